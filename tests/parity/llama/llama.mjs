// Runs GGUF files in llama.cpp and compares with what greedy_dump and mousse tokenize say.
//
// usage: node llama.mjs tokens FILE.gguf TEXT IDS.bin
//        node llama.mjs greedy FILE.gguf LIMIT IDS.txt LOGARITHMS.bin ID...
//
// greedy: 64 steps; the tokens must be the same and the logarithms of all probabilities differ by
// LIMIT at most, in the mean (the root of the squares') by a fifth of it. llama.cpp gives probabilities, not logits; those below 1e-30 are left out.
import fs from 'fs';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

const [, , action, file, ...rest] = process.argv;
const llama = await getLlama({ build: 'never', gpu: false, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });

function fail(text) {
  console.error(`${file}: ${text}`);
  process.exit(1);
}

async function compareTokens(textFile, idsFile) {
  const text = fs.readFileSync(textFile, 'utf8'), bytes = fs.readFileSync(idsFile);
  const expected = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  const ids = model.tokenize(text, false);
  if (ids.length !== expected.length) console.error(`${ids.length} ids, expected ${expected.length}`);
  for (let i = 0; i < Math.max(ids.length, expected.length); i++)
    if (ids[i] !== expected[i])
      fail(`id ${i} is ${ids[i]}, expected ${expected[i]}, near ${JSON.stringify(model.detokenize(ids.slice(Math.max(0, i - 3), i + 3)))}`);
  console.log(`${file}: ${ids.length} ids equal`);
}

async function compareGreedy(limit, idsFile, logarithmsFile, prompt) {
  const expected = fs.readFileSync(idsFile, 'utf8').trim().split('\n').map(Number);
  const bytes = fs.readFileSync(logarithmsFile);
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const vocabulary = all.length / expected.length;
  const context = await model.createContext({
    contextSize: 128, flashAttention: false, experimentalKvCacheKeyType: 'F32', experimentalKvCacheValueType: 'F32', threads: 1,
  });
  const sequence = context.getSequence();
  const ask = { generateNext: { token: true, probabilities: true, options: { temperature: 0 } } };
  let input = prompt.map(Number), worst = 0, squares = 0, count = 0;
  for (let step = 0; step < expected.length; step++) {
    const items = input.map((token, i) => (i + 1 < input.length ? token : [token, ask]));
    const out = (await sequence.controlledEvaluate(items)).filter((x) => x !== undefined).at(-1).next;
    for (const [token, probability] of out.probabilities) {
      if (probability < 1e-30) continue;
      const difference = Math.abs(Math.log(probability) - all[step * vocabulary + token]);
      worst = Math.max(worst, difference);
      squares += difference ** 2;
      count++;
    }
    if (out.token !== expected[step]) fail(`step ${step}: token ${out.token}, expected ${expected[step]} (logits differ by ${worst})`);
    input = [expected[step]];
  }
  console.log(`${file}: ${expected.length} greedy tokens equal, logarithms differ by ${worst.toExponential(1)}, in the mean ${Math.sqrt(squares / count).toExponential(1)}`);
  if (!(worst <= limit && squares / count <= (limit / 5) ** 2)) fail(`at most ${limit}, in the mean ${limit / 5}, expected`);
}

if (action === 'tokens') await compareTokens(...rest);
else await compareGreedy(Number(rest[0]), rest[1], rest[2], rest.slice(3));
process.exit(0);
