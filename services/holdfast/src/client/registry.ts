import type { Command } from './command.ts';

interface RegistryEntry {
  readonly summary: string;
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
    load: async () => (await import('./commands/up.ts')).UP,
  },
  down: {
    summary: 'End a cluster of `up` and remove everything of it',
    load: async () => (await import('./commands/down.ts')).DOWN,
  },
  status: {
    summary: 'Say where a cluster of `up` is and how it is',
    load: async () => (await import('./commands/status.ts')).STATUS,
  },
  list: { summary: 'List the clusters of `up`', load: async () => (await import('./commands/list.ts')).LIST },
  get: { summary: 'Show objects', words: RESOURCES, load: async () => (await import('./commands/get.ts')).GET },
  why: {
    summary: 'Say what an object waits for and what ends the wait: why pod/web-1',
    words: RESOURCES.map((name) => `${name}/`),
    load: async () => (await import('./commands/why.ts')).WHY,
  },
  ui: {
    summary: 'Print a link that signs a browser in to the console',
    load: async () => (await import('./commands/ui.ts')).UI,
  },
  history: {
    summary: 'Say what changed, who wrote it and what they had seen: history --since 10m',
    load: async () => (await import('./commands/history.ts')).HISTORY,
  },
  film: {
    summary: 'Show the loss of a node step by step, and what still waits: film --node node-2 --html FILE',
    load: async () => (await import('./commands/film.ts')).FILM,
  },
  doctor: {
    summary: 'Check what a cluster on this machine needs, and say what to do',
    load: async () => (await import('./commands/doctor.ts')).DOCTOR,
  },
  delete: {
    summary: 'Delete objects; with --force without confirmation by their node',
    words: RESOURCES,
    load: async () => (await import('./commands/delete.ts')).DELETE,
  },
  store: {
    summary: 'Accept the data of a halted store: store adopt',
    words: ['adopt'],
    load: async () => (await import('./commands/store.ts')).STORE,
  },
  fence: {
    summary: 'Have a node cut off by its agent: fence NODE',
    load: async () => (await import('./commands/fence.ts')).FENCE,
  },
  unfence: {
    summary: 'Lift the fence of a node: unfence NODE',
    load: async () => (await import('./commands/fence.ts')).UNFENCE,
  },
  backup: {
    summary: 'Write all objects of a running cluster to a file, with secrets: backup FILE',
    load: async () => (await import('./commands/backup.ts')).BACKUP,
  },
  restore: {
    summary: 'Put the objects of a backup into an empty store: restore FILE',
    load: async () => (await import('./commands/restore.ts')).RESTORE,
  },
  detach: {
    summary: 'Break the attachment of a volume to its node',
    words: ['volume'],
    load: async () => (await import('./commands/detach.ts')).DETACH,
  },
  run: {
    summary: 'Run a command with a cluster of its own: run -- go test ./...',
    load: async () => (await import('./commands/run.ts')).RUN,
  },
  explore: {
    summary: 'Try an operator with crashes, stale reads and lost answers: explore --workload FILE -- ./operator',
    load: async () => (await import('./commands/explore.ts')).EXPLORE,
  },
  testenv: {
    summary: 'Serve clusters for tests in any language, over HTTP',
    load: async () => (await import('./commands/testenv.ts')).TESTENV,
  },
  snapshot: {
    summary: 'Write the objects of a running cluster to a file for test clusters',
    load: async () => (await import('./commands/snapshot.ts')).SNAPSHOT,
  },
  envtest: {
    summary: 'Write the programs that envtest of controller-runtime starts: envtest DIR',
    load: async () => (await import('./commands/envtest.ts')).ENVTEST,
  },
  completion: {
    summary: 'Print the completions of a shell: completion bash',
    words: ['bash', 'zsh', 'fish'],
    load: async () => (await import('./commands/completion.ts')).COMPLETION,
  },
};
