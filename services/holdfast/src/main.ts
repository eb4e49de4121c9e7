import { limitHeap } from '@holdfast/platform/heap';

/** The terminal, npm and the launcher forward one Ctrl-C each, with delays: signals this close together count as one. */
const SAME_SIGNAL_MS = 1000;
const INTERRUPTED = 130;

const [command = 'help', ...argv] = process.argv.slice(2);
if (command === 'start') await start();
else await runForPerson();

async function start(): Promise<void> {
  limitHeap();
  // The terminal may be closed before the cluster has stopped: what it prints then is lost, and it still stops in order.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  process.umask(0o077); // For keys and tokens: files that others may read set their mode explicitly.
  const { explainFailure, startCommand } = await import('./start-command.ts');
  let stop = (): Promise<void> => Promise.resolve();
  let isReady = false;
  let firstSignalAt: number | undefined;
  const fail = (error: unknown): never => {
    const { text, exitCode } = explainFailure(error);
    process.stderr.write(text);
    process.exit(exitCode);
  };
  // A start that was given up fails: the stop tells the outcome and ends this process.
  const onFailure = (error: unknown) => (firstSignalAt === undefined ? fail(error) : new Promise<never>(() => {}));
  process.on('uncaughtException', fail); // Errors outside of any awaited call, for example in a thread.
  const onStopRequest = (): void => {
    if (firstSignalAt !== undefined) {
      if (performance.now() - firstSignalAt < SAME_SIGNAL_MS) return;
      process.stderr.write('holdfast: stopped at once; pods that still run are found by the next start\n');
      process.exit(INTERRUPTED);
    }
    firstSignalAt = performance.now();
    const doing = isReady ? 'stopping' : 'the start is given up';
    process.stderr.write(`holdfast: ${doing}; pods get their time to end (again to stop at once)\n`);
    stop().then(() => process.exit(isReady ? 0 : INTERRUPTED), fail);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onStopRequest);
  process.on('disconnect', onStopRequest); // The launcher died: nobody else can stop us.
  const line = {
    source: { argv, env: process.env },
    print: (text: string) => process.stdout.write(`${text}\n`),
    uptimeMs: () => process.uptime() * 1000,
    rssMb: () => process.memoryUsage.rss() / 2 ** 20,
    onCreated: (created: { stop(): Promise<void> }): unknown => (stop = () => created.stop()),
  };
  if ((await startCommand(line).catch(onFailure)) === undefined) process.exit(0);
  isReady = true;
}

async function runForPerson(): Promise<void> {
  const { runCommandLine } = await import('./client/run.ts');
  const { createSystemClock } = await import('@holdfast/platform');
  // The reader may close the pipe early (`| head`): the exit code still reports the result.
  process.stdout.on('error', () => {});
  const { stdout: output, stderr: errors, env } = process;
  process.exitCode = await runCommandLine([command, ...argv], { output, errors, env, clock: createSystemClock() });
}
