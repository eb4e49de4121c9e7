import type { Clock } from '@holdfast/platform';
import type { Terminal } from '../command.ts';
import { wantsColours } from './colours.ts';
import { LiveLine } from './live-line.ts';
import { COLOURED, PLAIN } from './paint.ts';

/** A stream of the process. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface TerminalDeps {
  readonly output: Output;
  readonly errors: Output;
  readonly env: Terminal['env'];
  readonly clock: Clock;
  readonly noColor: boolean;
}

/** The terminal of a person, or the files and pipes that stand for it. */
export function openTerminal({ output, errors, env, clock, noColor }: TerminalDeps): Terminal {
  const paintOf = ({ isTTY = false }: Output) => (wantsColours({ noColor, env, isTerminal: isTTY }) ? COLOURED : PLAIN);
  const canRedraw = errors.isTTY === true && env['TERM'] !== 'dumb';
  const live = canRedraw ? new LiveLine(errors) : undefined;
  const lineOn =
    (stream: Output) =>
    (line: string): void =>
      live === undefined ? void stream.write(`${line}\n`) : live.above(() => void stream.write(`${line}\n`));
  return {
    print: lineOn(output),
    tell: lineOn(errors),
    env,
    clock,
    paint: paintOf(output),
    paintTold: paintOf(errors),
    ...(live === undefined ? {} : { live }),
  };
}
