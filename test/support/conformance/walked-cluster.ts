import { TestContainerd } from '../containerd.ts';
import { TestDockerd } from '../dockerd.ts';
import { GoClient } from '../go-client.ts';
import { HoldfastProcess } from '../holdfast-process.ts';
import { createKubectl } from '../kubectl.ts';
import { mountsBelow } from '../machine-leftovers.ts';
import { WITHOUT_ROOT } from '../without-root.ts';
import { OBJECTS, runWalks, WALKS } from './index.ts';
import { type NodeKind, readRows } from './rows.ts';
import type { Walk } from './walk.ts';

/** Pods at a time: each start of a container keeps an engine busy. */
const TOGETHER: Readonly<Record<NodeKind, number>> = {
  process: 100,
  'process without root': 100,
  docker: 20,
  containerd: 20,
};

interface Engine extends AsyncDisposable {
  readonly flags: readonly string[];
  /** Begin the command that starts the cluster. */
  readonly words?: readonly string[];
}

const nothingToStop = { [Symbol.asyncDispose]: () => Promise.resolve() };

async function startContainerd(): Promise<Engine> {
  const engine = await TestContainerd.start();
  const flags = ['--runtime=cri', '--container-runtime-endpoint', engine.endpoint];
  return { flags, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

async function startDocker(): Promise<Engine> {
  const engine = await TestDockerd.start();
  const flags = ['--runtime=docker', '--container-runtime-endpoint', engine.endpoint];
  return { flags, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

const ENGINES: Readonly<Record<NodeKind, () => Promise<Engine>>> = {
  process: () => Promise.resolve({ flags: ['--runtime=process'], ...nothingToStop }),
  'process without root': () =>
    Promise.resolve({ flags: ['--runtime=process'], words: WITHOUT_ROOT, ...nothingToStop }),
  docker: startDocker,
  containerd: startContainerd,
};

/** What is not expected to hold is looked at for as long as pods need that end at once. */
const DENIED_WITHIN_MS = 10_000;

/** What differs on nodes of this kind from the table of rows: what does not hold there, and what does and is denied. */
export async function walkOn(kind: NodeKind, walks: readonly Walk[] = WALKS): Promise<readonly string[]> {
  await using engine = await ENGINES[kind]();
  const flags = ['--memory', '--without=proxy', ...engine.flags];
  await using cluster = await HoldfastProcess.start(flags, undefined, engine.words);
  const kubectl = createKubectl(() => cluster.ready.kubeconfig);
  await using api = await GoClient.connect(cluster.ready.kubeconfig);
  await kubectl.send(['create'], ...OBJECTS);
  const rows = readRows();
  const isDenied = ({ title }: Walk): boolean => rows[title]?.not?.[kind] !== undefined;
  const ways = { kubectl, api };
  const differing = await runWalks(
    ways,
    walks.filter((walk) => !isDenied(walk)),
    { together: TOGETHER[kind] },
  );
  const denied = walks.filter(isDenied);
  const settings = { deadlineMs: DENIED_WITHIN_MS, together: denied.length, first: WALKS.length };
  const late = await runWalks(ways, denied, settings);
  await cluster.stop();
  const mounts = mountsBelow(cluster.dataDir).map((mount) => `${mount} is still mounted after the stop`);
  const holding = new Set(denied.map(({ title }) => title).filter((title) => !late.has(title)));
  return [
    ...mounts,
    ...[...differing].map(([title, why]) => `${title}: ${why}`),
    ...[...holding].map((title) => `${title}: holds, and the table says that it does not`),
  ];
}
