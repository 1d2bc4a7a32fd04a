#!/bin/sh
# Installs what the locks here pin into a Python: sh envs/install.sh .venv/bin/python. make env and the image call it.
# Every file must have one of the sums in its lock, nothing is resolved, and no index is asked beside another one by us.
set -eu
python=$1
envs=$(dirname "$0")
index=${NOREGRET_TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
install() { "$python" -m pip install --quiet --require-hashes --no-deps "$@"; }

install -r "$envs/requirements.lock"
install --no-build-isolation -r "$envs/requirements-source.lock"

# PyTorch: from where pip looks anyway (PyPI has the build for macOS, a mirror or PIP_FIND_LINKS may have those for Linux),
# or else, where that has no such build, from the index of its CPU builds alone. A file with another sum ends it at once.
said=$(install -r "$envs/requirements-torch.lock" 2>&1) && exit
case $said in
  *"No matching distribution found"*)
    echo "pip's own index has no CPU build of PyTorch: asking $index" >&2
    said=$(install --index-url "$index" -r "$envs/requirements-torch.lock" 2>&1) && exit ;;
esac
printf '%s\n' "$said" >&2
cat >&2 <<END
expected one of the builds of PyTorch whose sums are in $envs/requirements-torch.lock, from pip's own index or from $index;
got what pip says above. Where neither can be reached, fetch the file elsewhere and name its folder: PIP_FIND_LINKS=DIR make env.
Another index of CPU builds: NOREGRET_TORCH_INDEX=URL make env. Another build: envs/README.md says how to admit it.
END
exit 1
