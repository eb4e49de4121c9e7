import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS } from '@holdfast/api';
import { NAMESPACE_PAGES_MAX } from '../limits.ts';
import type { ControllerContext } from './context.ts';
import { listAll } from './list-all.ts';

test('a list without end is abandoned', async () => {
  let pages = 0;
  const list = async (): Promise<object> => ({ items: [], continueToken: `${++pages}` });
  const context = { client: { list } } as unknown as ControllerContext;
  await assert.rejects(listAll(context, CONFIG_MAPS, { namespace: 'n' }), /the list of configmaps does not end/);
  assert.equal(pages, NAMESPACE_PAGES_MAX);
});
