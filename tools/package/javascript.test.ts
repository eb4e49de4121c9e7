import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toJavaScript } from './javascript.ts';
import { Addresses, roomsOf } from './workspace.ts';

test('modules name each other by files of the package', () => {
  const addresses = new Addresses(roomsOf('@holdfast/holdfast'));
  const source =
    "import { a } from './a.ts';\nimport type { B } from '@holdfast/api';\nimport { c } from '@holdfast/client/https';\n";
  const javascript = toJavaScript(
    `${source}const d: number = await import('@holdfast/store/sqlite');\n`,
    'services/cluster/src/x.ts',
    addresses,
  );
  assert.equal(
    javascript,
    "import { a } from './a.js';\n\nimport { c } from '../../../libs/client/src/transport/https.js';\nconst d         = await import('../../../libs/store/src/sqlite/index.js');\n",
  );
});
