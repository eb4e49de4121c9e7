import { limitHeap } from '@holdfast/platform/heap';

limitHeap();
// Loaded only now: most of what a start allocates are modules.
const { explainFailure, startCommand } = await import('./start-command.ts');

/** The terminal and the package manager may both pass on one Ctrl-C: signals this close together are one. */
const SAME_SIGNAL_MS = 300;

const [command = 'start', ...argv] = process.argv.slice(2);
const BYTES_PER_MB = 1024 * 1024;
let stop = (): Promise<void> => Promise.resolve();
let firstSignalAt: number | undefined;

function fail(error: unknown): never {
  const { text, exitCode } = explainFailure(error);
  process.stderr.write(text);
  process.exit(exitCode);
}

/** The first request ends everything in order, the second at once. */
function onStopRequest(): void {
  const now = performance.now();
  if (firstSignalAt !== undefined) {
    if (now - firstSignalAt > SAME_SIGNAL_MS) process.exit(130);
    return;
  }
  firstSignalAt = now;
  process.stderr.write('holdfast: stopping; pods get their time to end (again to stop at once)\n');
  stop().then(() => process.exit(0), fail);
}

if (command !== 'start') {
  process.stderr.write(`holdfast: unknown command "${command}"\n  Use \`start\`; \`start --help\` lists its flags.\n`);
  process.exit(2);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onStopRequest);
// Started by the front door: when that one dies, nobody can stop us any more.
process.on('disconnect', onStopRequest);

startCommand({
  source: { argv, env: process.env },
  print: (line) => process.stdout.write(`${line}\n`),
  uptimeMs: () => process.uptime() * 1000,
  rssMb: () => process.memoryUsage.rss() / BYTES_PER_MB,
}).then((cluster) => {
  if (cluster === undefined) process.exit(0);
  stop = () => cluster.stop();
}, fail);
