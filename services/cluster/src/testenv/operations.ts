import type { NewUser } from '../access.ts';
import type { HistoryQuery } from '../history.ts';
import type { LensOptions } from '../lens/index.ts';
import type { ClusterOptions } from '../options.ts';
import type { RevisionRange } from '../revision-diff.ts';
import type { Holdings } from './holdings.ts';
import type { ObjectSchema } from './schema.ts';
import {
  ADVANCE_SCHEMA,
  CLUSTER_SCHEMA,
  CLUSTERS_SCHEMA,
  DIFF_QUERY_SCHEMA,
  DIFF_SCHEMA,
  HISTORY_QUERY_SCHEMA,
  HISTORY_SCHEMA,
  LENS_OPTIONS_SCHEMA,
  LENS_SCHEMA,
  LENSES_SCHEMA,
  NOTHING_SCHEMA,
  OPTIONS_SCHEMA,
  RANGE_SCHEMA,
  RESTORE_SCHEMA,
  SNAPSHOT_SCHEMA,
  SNAPSHOTS_SCHEMA,
  TIME_SCHEMA,
  USER_OPTIONS_SCHEMA,
  USER_SCHEMA,
} from './schemas.ts';

/** One operation of the control endpoint: what it is for clients, and what it does. */
export interface Operation {
  /** `operationId` of OpenAPI. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `{id}` stands for one segment. */
  readonly path: string;
  readonly summary: string;
  readonly body?: ObjectSchema;
  /** The status of success. */
  readonly status: 200 | 201 | 204;
  /** Absent: the answer has no body. */
  readonly answer?: ObjectSchema;
  act(holdings: Holdings, given: Given): unknown;
}

/** The body fits the schema of the operation. */
export interface Given {
  readonly id: string;
  readonly body: unknown;
}

// The schema of each operation checks its body before the operation runs.
const optionsOf = ({ body }: Given): ClusterOptions => body as ClusterOptions;
const advanceOf = ({ body }: Given) => body as { readonly duration: string | number };
const restoreOf = ({ body }: Given) => body as { readonly snapshot: string };
const diffOf = ({ body }: Given) => body as { readonly to: string };
const rangeOf = ({ body }: Given): RevisionRange => body as RevisionRange;
const userOf = ({ body }: Given): NewUser => body as NewUser;
const historyOf = ({ body }: Given): HistoryQuery => body as HistoryQuery;
const lensOf = ({ body }: Given): LensOptions => body as LensOptions;

export const OPERATIONS: readonly Operation[] = [
  {
    id: 'createCluster',
    method: 'POST',
    path: '/clusters',
    summary: 'Start a cluster',
    body: OPTIONS_SCHEMA,
    status: 201,
    answer: CLUSTER_SCHEMA,
    act: (holdings, given) => holdings.start(optionsOf(given)),
  },
  {
    id: 'listClusters',
    method: 'GET',
    path: '/clusters',
    summary: 'List the clusters',
    status: 200,
    answer: CLUSTERS_SCHEMA,
    act: (holdings) => ({ items: holdings.clusters() }),
  },
  {
    id: 'getCluster',
    method: 'GET',
    path: '/clusters/{id}',
    summary: 'Read a cluster with its kubeconfig',
    status: 200,
    answer: CLUSTER_SCHEMA,
    act: (holdings, { id }) => holdings.cluster(id),
  },
  {
    id: 'deleteCluster',
    method: 'DELETE',
    path: '/clusters/{id}',
    summary: 'Stop a cluster. Its snapshots stay',
    status: 204,
    act: (holdings, { id }) => holdings.remove(id),
  },
  {
    id: 'advanceCluster',
    method: 'POST',
    path: '/clusters/{id}/advance',
    summary: 'Let virtual time pass. The answer comes when everything that it caused has happened',
    body: ADVANCE_SCHEMA,
    status: 200,
    answer: TIME_SCHEMA,
    act: (holdings, given) => holdings.advance(given.id, advanceOf(given).duration),
  },
  {
    id: 'readHistory',
    method: 'POST',
    path: '/clusters/{id}/history',
    summary: 'Read what changed, who wrote it and what they had seen, oldest first',
    body: HISTORY_QUERY_SCHEMA,
    status: 200,
    answer: HISTORY_SCHEMA,
    act: (holdings, given) => holdings.history(given.id, historyOf(given)),
  },
  {
    id: 'diffCluster',
    method: 'POST',
    path: '/clusters/{id}/diff',
    summary: 'Compare two revisions of a cluster, or one with the present state, object by object',
    body: RANGE_SCHEMA,
    status: 200,
    answer: DIFF_SCHEMA,
    act: (holdings, given) => holdings.diffOfRevisions(given.id, rangeOf(given)),
  },
  {
    id: 'createSnapshot',
    method: 'POST',
    path: '/clusters/{id}/snapshots',
    summary: 'Take a snapshot of a cluster',
    body: NOTHING_SCHEMA,
    status: 201,
    answer: SNAPSHOT_SCHEMA,
    act: (holdings, { id }) => holdings.takeSnapshot(id),
  },
  {
    id: 'restoreCluster',
    method: 'POST',
    path: '/clusters/{id}/restore',
    summary: 'Put a snapshot in place of the present state. The kubeconfig stays',
    body: RESTORE_SCHEMA,
    status: 200,
    answer: CLUSTER_SCHEMA,
    act: (holdings, given) => holdings.restore(given.id, restoreOf(given).snapshot),
  },
  {
    id: 'resetCluster',
    method: 'POST',
    path: '/clusters/{id}/reset',
    summary: 'Put the state of its start in place of the present one: of a fork, its snapshot. The kubeconfig stays',
    body: NOTHING_SCHEMA,
    status: 200,
    answer: CLUSTER_SCHEMA,
    act: (holdings, { id }) => holdings.reset(id),
  },
  {
    id: 'listSnapshots',
    method: 'GET',
    path: '/snapshots',
    summary: 'List the snapshots',
    status: 200,
    answer: SNAPSHOTS_SCHEMA,
    act: (holdings) => ({ items: holdings.snapshots() }),
  },
  {
    id: 'forkSnapshot',
    method: 'POST',
    path: '/snapshots/{id}/fork',
    summary: 'Start a cluster that continues from a snapshot. Given options replace those of the first cluster',
    body: OPTIONS_SCHEMA,
    status: 201,
    answer: CLUSTER_SCHEMA,
    act: (holdings, given) => holdings.fork(given.id, optionsOf(given)),
  },
  {
    id: 'diffSnapshot',
    method: 'POST',
    path: '/snapshots/{id}/diff',
    summary: 'Compare a snapshot with another one, or with a cluster as it is now, object by object',
    body: DIFF_QUERY_SCHEMA,
    status: 200,
    answer: DIFF_SCHEMA,
    act: (holdings, given) => holdings.diff(given.id, diffOf(given).to),
  },
  {
    id: 'deleteSnapshot',
    method: 'DELETE',
    path: '/snapshots/{id}',
    summary: 'Forget a snapshot. Its forks stay',
    status: 204,
    act: (holdings, { id }) => holdings.removeSnapshot(id),
  },
  {
    id: 'createUser',
    method: 'POST',
    path: '/clusters/{id}/users',
    summary: 'Return the kubeconfig of another user, whom a lens can name',
    body: USER_OPTIONS_SCHEMA,
    status: 201,
    answer: USER_SCHEMA,
    act: (holdings, given) => holdings.addUser(given.id, userOf(given)),
  },
  {
    id: 'createLens',
    method: 'POST',
    path: '/clusters/{id}/lenses',
    summary: 'Show a fault to one client. Everybody else sees the truth',
    body: LENS_OPTIONS_SCHEMA,
    status: 201,
    answer: LENS_SCHEMA,
    act: (holdings, given) => holdings.lenses.add(given.id, lensOf(given)),
  },
  {
    id: 'listLenses',
    method: 'GET',
    path: '/clusters/{id}/lenses',
    summary: 'List the lenses of a cluster',
    status: 200,
    answer: LENSES_SCHEMA,
    act: (holdings, { id }) => ({ items: holdings.lenses.of(id) }),
  },
  {
    id: 'turnLensOn',
    method: 'POST',
    path: '/lenses/{id}/on',
    summary: 'Turn a lens on. Its counts and views begin anew',
    body: NOTHING_SCHEMA,
    status: 200,
    answer: LENS_SCHEMA,
    act: (holdings, { id }) => holdings.lenses.turnOn(id),
  },
  {
    id: 'turnLensOff',
    method: 'POST',
    path: '/lenses/{id}/off',
    summary: 'Turn a lens off. What it held back is delivered',
    body: NOTHING_SCHEMA,
    status: 200,
    answer: LENS_SCHEMA,
    act: (holdings, { id }) => holdings.lenses.turnOff(id),
  },
  {
    id: 'deleteLens',
    method: 'DELETE',
    path: '/lenses/{id}',
    summary: 'Remove a lens. What it held back is delivered',
    status: 204,
    act: (holdings, { id }) => holdings.lenses.remove(id),
  },
];
