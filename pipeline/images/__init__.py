"""Images: data sets, the way to tokens or codes and back, and features to compare images by."""
