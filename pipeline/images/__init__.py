"""Images: sets of them, how they become tokens or codes and back, and features that tell how alike they are."""
