import { createSystemClock } from '@holdfast/platform';
import { runCommandLine } from '../../services/holdfast/src/client/run.ts';
import { MAIN, type Ran } from './holdfast-command.ts';

/** The process behind `startCommandHost`: each message has the arguments of a command, each answer what it did. */
// A command that starts a server starts the program that it is itself.
process.argv[1] = MAIN;
let last: Promise<void> = Promise.resolve();

process.on('message', (args: readonly string[]) => {
  last = last.then(async () => {
    const ran = await run(args);
    process.send?.(ran);
  });
});
process.on('disconnect', () => process.exit(0));

async function run(args: readonly string[]): Promise<Ran> {
  const said = { stdout: '', stderr: '' };
  const into = (name: keyof typeof said) => ({
    write: (text: string): void => {
      said[name] += text;
    },
  });
  const [output, errors] = [into('stdout'), into('stderr')];
  const code = await runCommandLine(args, { output, errors, env: process.env, clock: createSystemClock() });
  return { code, ...said };
}
