#!/usr/bin/env bash
# wrong_ptx_test.sh TEST_GOLDENS PTX_FOLDER: a wrong constant in one kernel's PTX fails the comparison with TensorFlow's numbers.
set -euo pipefail
goldens=$1 right=$2
wrong=$(mktemp -d)
trap 'rm -r "$wrong"' EXIT
cp "$right"/*.ptx "$wrong"
run() { LOCKSTEP_SIM_KERNELS=ptx:$1 "$goldens" --gtest_filter='Replicas/MnistGolden.*/x1' 2>&1; }

run "$wrong" >/dev/null || { echo "the copied kernels do not meet TensorFlow's numbers"; exit 1; }
# In the exponential of the loss: 1 / ln 2 becomes the 1000th float behind it.
sed -i 's/0f3FB8AA3B/0f3FB8AE23/' "$wrong/dense_loss_kernels.ptx" "$wrong/loss_kernels.ptx"
cmp -s "$wrong/loss_kernels.ptx" "$right/loss_kernels.ptx" && { echo "the constant is not in loss_kernels.ptx"; exit 1; }
said=$(run "$wrong") && { echo "the wrong constant was not found"; exit 1; }
grep -q 'FAILED.*MnistGolden' <<<"$said" || { echo "$said"; exit 1; }
grep -q '[Ee]xpected: ' <<<"$said" || { echo "$said"; exit 1; }

# Files that are not there, or are no PTX: one sentence.
said=$(run "$wrong/absent") && exit 1
grep -q "there are no .ptx files in the folder '$wrong/absent'" <<<"$said" || { echo "$said"; exit 1; }
sed -i 's/fma\.rn\.f32/fma.rx.f32/' "$wrong/loss_kernels.ptx"
said=$(run "$wrong") && exit 1
grep -q "virtual GPU: LOCKSTEP_SIM_KERNELS=ptx: $wrong/loss_kernels.ptx: PTX line" <<<"$said" || { echo "$said"; exit 1; }
echo "a wrong constant, a missing folder and an unknown instruction are found"
