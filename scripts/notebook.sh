# shellcheck shell=bash disable=SC2154  # $root and $preset come from ../lockstep and preset.sh
# ./lockstep notebook: JupyterLab with the project's kernel.

open_notebooks() {
  choose_preset
  install_missing
  install_for_notebooks || die 'the notebooks need these packages; xeus-cling from conda-forge runs them too (notebooks/environment.yml)'
  local folder=$root/build/$preset share=$root/build/notebook-venv/share/jupyter
  build "$preset" lockstep-kernel >&2
  make_notebook_python "$root/notebooks/requirements.txt" || die 'could not make it (python3-venv and a network are needed)'
  mkdir -p "$share/kernels/xcpp17" "$share/lab/settings"
  "$root/notebooks/kernel/kernelspec.sh" "$folder/notebooks/lockstep-kernel" >"$share/kernels/xcpp17/kernel.json"
  # JupyterLab shows no question about Jupyter's news feed and does not look for updates.
  printf '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}\n' >"$share/lab/settings/overrides.json"
  local options=(--ip=127.0.0.1 "--notebook-dir=$root/notebooks")
  ((EUID)) || options+=(--allow-root)
  say 'JupyterLab shows an address with a token; begin with 00-start-here.'
  exec "$root/build/notebook-venv/bin/jupyter" lab "${options[@]}" "$@"
}
