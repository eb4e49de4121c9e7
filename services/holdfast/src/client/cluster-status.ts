import { humanDuration, isNodeReady, NODES } from '@holdfast/api';
import { describeError, OperatorError } from '@holdfast/platform';
import { type ClusterHome, type ClusterRecord, contextOf, livingProcess } from '../local/cluster-home.ts';
import type { Terminal } from './command.ts';
import { knownCluster } from './kubeconfig-choice.ts';
import { textAt } from './resources.ts';
import { openSession, type Session } from './session.ts';
import { type Paint, PLAIN } from './terminal/paint.ts';

/** A cluster of `up`, as it is now. */
export interface ClusterStatus {
  readonly name: string;
  readonly state: 'running' | 'stopped' | 'silent';
  readonly address: string | undefined;
  readonly version?: string;
  readonly nodes?: { readonly ready: number; readonly total: number };
  /** Since it was created. */
  readonly ageSeconds: number;
  /** What is wrong; empty when nothing is. */
  readonly health: readonly string[];
  readonly pid: number | undefined;
  readonly kubeconfig: string;
  readonly contexts: readonly { readonly file: string; readonly context: string }[];
  readonly dataDirectory: string;
  readonly log: string;
}

export async function examineCluster(home: ClusterHome, terminal: Terminal): Promise<ClusterStatus> {
  const record = knownCluster(home);
  const status = factsOf(home, record, terminal.clock.now());
  if (livingProcess(record) === undefined) return status;
  try {
    await using session = await openSession(
      { kubeconfig: home.kubeconfig, name: undefined, namespace: undefined },
      terminal,
    );
    return { ...status, state: 'running', ...(await readServer(session)) };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { ...status, state: 'silent', health: [`its process lives, but does not answer: ${describeError(error)}`] };
  }
}

function factsOf(home: ClusterHome, record: ClusterRecord, nowMs: number): ClusterStatus {
  return {
    name: home.name,
    state: 'stopped',
    address: record.url,
    ageSeconds: Math.max(0, Math.floor((nowMs - record.createdMs) / 1000)),
    health: [],
    pid: livingProcess(record)?.pid,
    kubeconfig: home.kubeconfig,
    contexts: record.mergedInto.map((file) => ({ file, context: contextOf(home.name) })),
    dataDirectory: home.dataDirectory,
    log: home.log,
  };
}

async function readServer(session: Session): Promise<Pick<ClusterStatus, 'version' | 'nodes' | 'health'>> {
  const version = textAt(await session.read('/version', 'application/json'), 'gitVersion');
  const { body } = await session.ask('/readyz', new URLSearchParams({ verbose: '' }));
  const failed = (body.kind === 'text' ? body.text : '').split('\n').filter((line) => line.startsWith('[-]'));
  const { items } = await session.client.list(NODES);
  const lost = items.filter((node) => !isNodeReady(node)).map((node) => `node ${node.metadata.name} is not ready`);
  return {
    version,
    nodes: { ready: items.length - lost.length, total: items.length },
    health: [...failed.map((line) => line.slice('[-]'.length)), ...lost],
  };
}

/** Lines for people. */
export function textOfCluster(status: ClusterStatus, paint: Paint = PLAIN): string {
  const { nodes, health } = status;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Name', status.name],
    ['State', status.state === 'running' ? paint.good(status.state) : status.state],
    ['Address', status.address],
    ['Version', status.version],
    ['Nodes', nodes === undefined ? undefined : `${nodes.ready} of ${nodes.total} ready`],
    ['Age', humanDuration(status.ageSeconds * 1000)],
    [
      'Health',
      status.state === 'stopped' ? undefined : health.length === 0 ? paint.good('ok') : paint.bad(health.join('; ')),
    ],
    ['Process', status.pid?.toString()],
    ['Kubeconfig', status.kubeconfig],
    ...status.contexts.map(({ file, context }) => ['Context', `${context} in ${file}`] as const),
    ['Data', status.dataDirectory],
    ['Log', status.log],
  ];
  return rows.flatMap(([title, text]) => (text === undefined ? [] : [`${title.padEnd(12)}${text}`])).join('\n');
}
