import type { Column, ComponentStatus } from '@holdfast/api';
import { buildTable, notFound } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import { valueAnswer } from '../http/object-answer.ts';
import type { VirtualHandler, VirtualResource } from './port.ts';

const DEPRECATED = 'v1 ComponentStatus is deprecated in v1.19+';

/** Under the name that clients know the store by. */
const STORE = 'etcd-0';

const get: VirtualHandler = async (core, context) => {
  context.warn(DEPRECATED);
  const { name } = context.info;
  const found = (await statuses(core)).find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw notFound({ group: '', resource: 'componentstatuses', name });
  if (context.representation.shape === 'table') return valueAnswer(context, 200, tableOf(core, [found]));
  return valueAnswer(context, 200, { kind: 'ComponentStatus', apiVersion: 'v1', ...found });
};

const list: VirtualHandler = async (core, context) => {
  context.warn(DEPRECATED);
  const items = await statuses(core);
  if (context.representation.shape === 'table') return valueAnswer(context, 200, tableOf(core, items));
  return valueAnswer(context, 200, { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items });
};

/** An old way to ask whether the parts are well. The server knows its store; other parts tell about themselves by leases. */
export const componentStatuses: VirtualResource = {
  group: '',
  version: 'v1',
  kind: 'ComponentStatus',
  plural: 'componentstatuses',
  singular: 'componentstatus',
  namespaced: false,
  shortNames: ['cs'],
  verbs: { get, list },
};

interface Status extends Pick<ComponentStatus, 'conditions'> {
  /** It was never created. */
  readonly metadata: { readonly name: string; readonly creationTimestamp: null };
}

async function statuses({ store }: Core): Promise<readonly Status[]> {
  const problems = await store.health();
  const condition =
    problems.length === 0
      ? { type: 'Healthy', status: 'True', message: 'ok' }
      : { type: 'Healthy', status: 'False', error: problems.join('; ') };
  return [{ metadata: { name: STORE, creationTimestamp: null }, conditions: [condition] }];
}

const healthOf = ({ conditions = [] }: Readonly<Status>): NonNullable<Status['conditions']>[number] | undefined =>
  conditions.find(({ type }) => type === 'Healthy');

const column = (name: string, description: string, cell: Column<Status>['cell']): Column<Status> => ({
  name,
  type: 'string',
  description,
  priority: 0,
  cell,
});

const COLUMNS: readonly Column<Status>[] = [
  { ...column('Name', 'The name of the component', ({ metadata }) => metadata.name), format: 'name' },
  column('Status', 'Whether the component is well', (each) =>
    healthOf(each)?.status === 'True' ? 'Healthy' : 'Unhealthy',
  ),
  column('Message', 'What the component says', (each) => healthOf(each)?.message ?? ''),
  column('Error', 'What is wrong', (each) => healthOf(each)?.error ?? ''),
];

const tableOf = ({ clock }: Core, objects: readonly Status[]): unknown =>
  buildTable({ objects, columns: COLUMNS, metadata: {}, include: 'Metadata', now: clock.now() });
