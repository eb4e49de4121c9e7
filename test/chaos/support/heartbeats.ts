import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** One heartbeat, written by the process of a container itself. */
export interface Heartbeat {
  readonly atMs: number;
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
  readonly pid: string;
}

/** One process of a pod, from its first heartbeat to its last. */
export interface Life {
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
  readonly pid: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * The command of a container that writes heartbeats into a folder shared by all nodes: time, pod, uid, node and
 * process, five times a second. On a stop it takes two more seconds: a death that is confirmed too early would show as
 * two lives. `$$$$` is `$$`, the shell's own process id, after Kubernetes expanded the command.
 */
export const HEARTBEAT_COMMAND: readonly string[] = [
  'sh',
  '-c',
  [
    'beat() { echo "$(date +%s%3N) $POD_NAME $POD_UID $NODE_NAME $$$$" >> "/shared/$POD_UID.log"; sleep 0.2; }',
    "trap 'for i in 1 2 3 4 5 6 7 8 9 10; do beat; done; exit 0' TERM",
    'while true; do beat; done',
  ].join('\n'),
];

export async function readLives(folder: string): Promise<readonly Life[]> {
  const lives = new Map<string, Life>();
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.log')).toSorted()) {
    for (const beat of parseHeartbeats(await readFile(path.join(folder, file), 'utf8'))) {
      const { atMs, ...who } = beat;
      const key = `${who.uid}/${who.node}/${who.pid}`;
      lives.set(key, { ...who, firstMs: lives.get(key)?.firstMs ?? atMs, lastMs: atMs });
    }
  }
  return [...lives.values()];
}

/** A line that is still being written is left out. */
function parseHeartbeats(text: string): readonly Heartbeat[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [atMs, pod = '', uid = '', node = '', pid = ''] = line.split(' ');
      return { atMs: Number(atMs), pod, uid, node, pid };
    });
}

/** Sentences on every identity that was alive twice at the same time. */
export function doubleLives(lives: readonly Life[]): readonly string[] {
  return lives.flatMap((one, index) =>
    lives
      .slice(index + 1)
      .filter((other) => other.pod === one.pod && one.firstMs <= other.lastMs && other.firstMs <= one.lastMs)
      .map((other) => `${one.pod} lived as ${describe(one)} and as ${describe(other)} at the same time`),
  );
}

function describe({ uid, node, pid, firstMs, lastMs }: Life): string {
  return `${uid} on ${node} (process ${pid}, ${firstMs}..${lastMs})`;
}
