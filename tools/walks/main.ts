// `npm run walks -- KIND...`: runs the walks of the conformance tests on nodes of these kinds, and compares them with docs/conformance-rows.json.

import { NODE_KINDS, type NodeKind } from '../../test/support/conformance/rows.ts';
import { walkOn } from '../../test/support/conformance/walked-cluster.ts';

const isKind = (word: string): word is NodeKind => NODE_KINDS.some((kind) => kind === word);
const words = process.argv.slice(2);
const unknown = words.filter((word) => !isKind(word));

if (words.length === 0 || unknown.length > 0) {
  process.stderr.write(
    `usage: npm run walks -- KIND...   (one of: ${NODE_KINDS.map((kind) => `'${kind}'`).join(', ')})\n`,
  );
  process.exit(2);
}
for (const kind of words.filter(isKind)) {
  const differing = await walkOn(kind);
  process.stdout.write(`${kind}: ${differing.length} differ from docs/conformance-rows.json\n`);
  for (const line of differing) process.stdout.write(`  ${line}\n`);
  if (differing.length > 0) process.exitCode = 1;
}
