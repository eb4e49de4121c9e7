import type { Command } from './command.ts';

interface RegistryEntry {
  readonly summary: string;
  /** A line that people can change; the help of the others has it. */
  readonly example?: string;
  /** What may follow it, for completions. */
  readonly words?: readonly string[];
  readonly load: () => Promise<Command>;
}

/** The resources that people ask for most. */
const RESOURCES = [
  'pods',
  'nodes',
  'deployments',
  'statefulsets',
  'daemonsets',
  'jobs',
  'services',
  'configmaps',
  'secrets',
  'persistentvolumeclaims',
  'persistentvolumes',
  'namespaces',
  'events',
];

/** All commands except `start`. Only the used one is loaded. */
export const COMMANDS: Readonly<Record<string, RegistryEntry>> = {
  up: {
    summary: 'Start a named cluster, in the background with -d: up -d --merge',
    example: 'up -d --name shop --nodes 3 --merge',
    load: async () => (await import('./commands/up.ts')).UP,
  },
  down: {
    summary: 'End a cluster of `up` and remove everything of it',
    example: 'down --name shop',
    load: async () => (await import('./commands/down.ts')).DOWN,
  },
  status: {
    summary: 'Say where a cluster of `up` is and how it is',
    example: 'status --name shop --json',
    load: async () => (await import('./commands/status.ts')).STATUS,
  },
  list: {
    summary: 'List the clusters of `up`',
    example: 'list',
    load: async () => (await import('./commands/list.ts')).LIST,
  },
  get: {
    summary: 'Show objects',
    example: 'get pods -A --selector app=web',
    words: RESOURCES,
    load: async () => (await import('./commands/get.ts')).GET,
  },
  why: {
    summary: 'Say what an object waits for and what ends the wait: why pod/web-1',
    example: 'why pod/web-1 pvc/data -n shop',
    words: RESOURCES.map((name) => `${name}/`),
    load: async () => (await import('./commands/why.ts')).WHY,
  },
  ui: {
    summary: 'Print a link that signs a browser in to the console',
    example: 'ui',
    load: async () => (await import('./commands/ui.ts')).UI,
  },
  history: {
    summary: 'Say what changed, who wrote it and what they had seen: history --since 10m',
    example: 'history --since 10m --object pod/default/web',
    load: async () => (await import('./commands/history.ts')).HISTORY,
  },
  film: {
    summary: 'Show the loss of a node step by step, and what still waits: film --node node-2 --html FILE',
    example: 'film --node node-2 --since 10m --html film.html',
    load: async () => (await import('./commands/film.ts')).FILM,
  },
  doctor: {
    summary: 'Check what a cluster on this machine needs, and say what to do',
    example: 'doctor --port 7443',
    load: async () => (await import('./commands/doctor.ts')).DOCTOR,
  },
  delete: {
    summary: 'Delete objects; with --force without confirmation by their node',
    example: 'delete pod web-1 --force --confirm',
    words: RESOURCES,
    load: async () => (await import('./commands/delete.ts')).DELETE,
  },
  store: {
    summary: 'Accept the data of a halted store: store adopt',
    example: 'store adopt --data-dir .holdfast --confirm',
    words: ['adopt'],
    load: async () => (await import('./commands/store.ts')).STORE,
  },
  fence: {
    summary: 'Have a node cut off by its agent: fence NODE',
    example: 'fence node-2 --release --confirm',
    load: async () => (await import('./commands/fence.ts')).FENCE,
  },
  unfence: {
    summary: 'Lift the fence of a node: unfence NODE',
    example: 'unfence node-2 --confirm',
    load: async () => (await import('./commands/fence.ts')).UNFENCE,
  },
  backup: {
    summary: 'Write all objects of a running cluster to a file, with secrets: backup FILE',
    example: 'backup cluster.backup',
    load: async () => (await import('./commands/backup.ts')).BACKUP,
  },
  restore: {
    summary: 'Put the objects of a backup into an empty store: restore FILE',
    example: 'restore cluster.backup --data-dir NEW',
    load: async () => (await import('./commands/restore.ts')).RESTORE,
  },
  detach: {
    summary: 'Break the attachment of a volume to its node',
    example: 'detach volume pv-1 --confirm',
    words: ['volume'],
    load: async () => (await import('./commands/detach.ts')).DETACH,
  },
  run: {
    summary: 'Run a command with a cluster of its own: run -- go test ./...',
    example: 'run --hollow-nodes 3 -- go test ./...',
    load: async () => (await import('./commands/run.ts')).RUN,
  },
  explore: {
    summary: 'Try an operator with crashes, stale reads and lost answers: explore --workload FILE -- ./operator',
    example: 'explore --workload workload.yaml --minutes 5 -- ./operator',
    load: async () => (await import('./commands/explore.ts')).EXPLORE,
  },
  sim: {
    summary: 'Play a scenario file on virtual time: sim FILE',
    example: 'sim isolate-node.yaml --html run.html',
    load: async () => (await import('./commands/sim.ts')).SIM,
  },
  chaos: {
    summary: 'Play scenario files on containers (in a checkout): chaos FILE',
    example: 'chaos --random 3 --seed 7 --html reports',
    load: async () => (await import('./commands/chaos.ts')).CHAOS,
  },
  testenv: {
    summary: 'Serve clusters for tests in any language, over HTTP',
    example: 'testenv --port 8080 --token-file token',
    load: async () => (await import('./commands/testenv.ts')).TESTENV,
  },
  snapshot: {
    summary: 'Write the objects of a running cluster to a file for test clusters',
    example: 'snapshot --out state.json',
    load: async () => (await import('./commands/snapshot.ts')).SNAPSHOT,
  },
  envtest: {
    summary: 'Write the programs that envtest of controller-runtime starts: envtest DIR',
    load: async () => (await import('./commands/envtest.ts')).ENVTEST,
  },
  completion: {
    summary: 'Print the completions of a shell: completion bash',
    example: 'completion bash',
    words: ['bash', 'zsh', 'fish'],
    load: async () => (await import('./commands/completion.ts')).COMPLETION,
  },
  version: {
    summary: 'Print the version',
    example: 'version --json',
    load: async () => (await import('./commands/version.ts')).VERSION,
  },
};
