"""The VQVAE and what it is trained for."""

import pytest
import small_tokenizer
import torch
from small_tokenizer import NETWORK, settings

from pipeline.config import TokenizerLoss, TokenizerNetwork
from pipeline.errors import KinoflowError
from pipeline.images.vqgan import new_discriminator, random_view
from pipeline.images.vqvae import VQVAE, Quantiser, check_side, from_unit, to_unit


@pytest.mark.parametrize("multipliers, side", [((1,), 8), ((1, 2), 4), ((1, 1, 2), 2)])
@pytest.mark.parametrize("attention", [True, False])
def test_each_level_after_the_first_halves_the_sides(multipliers: tuple[int, ...], side: int, attention: bool) -> None:
    network = TokenizerNetwork(**NETWORK | {"multipliers": multipliers, "attention": attention})
    vqvae, images = VQVAE(network, codes=6, channels=3, at_once=60), torch.randn(2, 3, 8, 8)
    rebuilt = vqvae(images)
    assert rebuilt.codes.shape == (2, side, side)
    assert rebuilt.images.shape == images.shape


def test_codes_and_their_images_are_those_of_the_reconstruction() -> None:
    vqvae, images = VQVAE(TokenizerNetwork(**NETWORK), codes=6, channels=1, at_once=32), torch.randn(2, 1, 8, 8)
    vqvae(images)  # the first batch says where the codes are
    rebuilt = vqvae.eval()(images)
    assert torch.equal(vqvae.encode(images), rebuilt.codes)
    assert torch.allclose(vqvae.decode(rebuilt.codes), rebuilt.images, atol=1e-6)


def test_gradients_reach_the_encoder_through_the_codes() -> None:
    vqvae = VQVAE(TokenizerNetwork(**NETWORK), codes=6, channels=1, at_once=32)
    vqvae(torch.randn(2, 1, 8, 8)).images.square().sum().backward()
    assert float(vqvae.encoder[0].weight.grad.abs().sum()) > 0


def test_only_live_codes_are_given() -> None:
    quantiser, vectors = Quantiser(4, 2), torch.randn(50, 2)
    quantiser.quantise.codebook = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    live = torch.tensor([True, False, True, False])
    assert set(quantiser.nearest(vectors).tolist()) == {0, 1, 2, 3}
    assert torch.equal(quantiser.nearest(vectors, live), torch.where(vectors[:, 0] > 0, 0, 2))


def test_codes_have_length_one_and_dead_ones_are_put_on_vectors() -> None:
    torch.manual_seed(0)
    quantiser = Quantiser(8, 4, at_once=400).train()
    for _ in range(3):
        quantiser(torch.randn(400, 4))
    away = torch.randn(4)
    quantiser.quantise._codebook.cluster_size[0, 2] = 0  # nothing has been near to code 2 for long
    quantiser.quantise._codebook.embed[0, 2] = away
    quantiser(torch.randn(400, 4))
    assert torch.allclose(quantiser.codebook.norm(dim=-1), torch.ones(8), atol=1e-5)
    assert not torch.allclose(quantiser.codebook[2], away / away.norm(), atol=1e-2)


def test_the_loss_of_the_reconstruction_has_no_gradient_on_the_discriminator() -> None:
    network, rebuilt = small_tokenizer.network(settings()), torch.randn(2, 1, 8, 8, requires_grad=True)
    network.suspicion(rebuilt).sum().backward()
    assert all(parameter.grad is None for parameter in network.discriminator.parameters())
    assert float(rebuilt.grad.abs().sum()) > 0


def test_the_loss_of_the_discriminator_has_no_gradient_on_the_reconstruction() -> None:
    network, rebuilt = small_tokenizer.network(settings()), torch.randn(2, 1, 8, 8, requires_grad=True)
    network.error_of_the_discriminator(torch.randn(2, 1, 8, 8), rebuilt).sum().backward()
    assert rebuilt.grad is None
    kernels = [parameter for parameter in network.discriminator.parameters() if parameter.dim() == 4]
    assert all(float(kernel.grad.abs().sum()) > 0 for kernel in kernels)


def test_in_evaluation_the_loss_is_the_difference_of_pixels() -> None:
    network, images = small_tokenizer.network(settings(pixel="l1", adversarial_from=0)), torch.randn(3, 1, 8, 8)
    network(images)
    rebuilt = network.eval().vqvae(images).images
    assert torch.allclose(network(images), (rebuilt - images).abs().mean((1, 2, 3)))


def test_values_survive_the_way_to_the_network_and_back() -> None:
    images = torch.arange(17, dtype=torch.uint8).repeat(2, 1)[..., None, None].expand(2, 17, 4, 3)
    assert torch.equal(from_unit(to_unit(images, 17), 17), images)
    assert from_unit(torch.tensor([[[[-3.0, 3.0]]]]), 17).flatten().tolist() == [0, 16]


def test_random_views_are_crops_and_mirror_images_that_the_generator_draws() -> None:
    images = torch.arange(2 * 36).view(2, 6, 6, 1).repeat(20, 1, 1, 1)
    seen = random_view(images, 4, "ten_crop", torch.Generator().manual_seed(0))
    again = random_view(images, 4, "ten_crop", torch.Generator().manual_seed(0))
    assert torch.equal(seen, again)
    possible = {
        tuple(crop.flatten().tolist())
        for image in images[:2]
        for top in range(3)
        for left in range(3)
        for crop in (image[top : top + 4, left : left + 4], image[top : top + 4, left : left + 4].flip(1))
    }
    found = {tuple(crop.flatten().tolist()) for crop in seen}
    assert found <= possible
    assert len(found) > 10


def test_without_augmentation_every_view_is_the_middle() -> None:
    images = torch.arange(36).view(1, 6, 6, 1)
    assert torch.equal(random_view(images, 4, "none", torch.Generator()), images[:, 1:5, 1:5])


def test_images_that_cannot_be_halved_often_enough_are_an_error() -> None:
    with pytest.raises(KinoflowError, match=r"8 x 8 pixels: the 5 levels of tokenizer\.network\.multipliers.*16 x 16"):
        check_side(8, TokenizerNetwork())


def test_a_discriminator_that_is_too_deep_for_the_images_is_an_error() -> None:
    with pytest.raises(KinoflowError, match=r"discriminator_layers = 3 needs images of 24 pixels, these have 8"):
        new_discriminator(TokenizerLoss(), channels=1, side=8)
    assert new_discriminator(TokenizerLoss(adversarial=0.0), channels=1, side=8) is None
