import type { Clock } from '@holdfast/platform';
import { type Arguments, describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { CONNECTION_SETTINGS, type ConnectionSettings, openSession, type Session } from './session.ts';
import type { Paint } from './terminal/paint.ts';

/** The environment of a command: input and output. */
export interface Terminal {
  readonly print: (line: string) => void;
  /** Prints warnings and errors, separate from the output. */
  readonly tell: (line: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Colours of what is printed; absent: plain text. */
  readonly paint?: Paint;
  /** Colours of what is told. */
  readonly paintTold?: Paint;
  /** The line for the progress of long work; absent where nothing can be drawn twice. */
  readonly live?: { show(text: string): void };
}

export interface Command {
  /** Its flags, for completions. */
  readonly settings: SettingSpecs;
  /** Resolves with the exit code. Default: 0. */
  run(argv: readonly string[], terminal: Terminal): Promise<number | void>;
}

interface CommandForm<S extends SettingSpecs> {
  /** The text after `holdfast`. */
  readonly usage: string;
  readonly about: string;
  readonly settings: S;
  act(given: Arguments<S & ConnectionSettings>, session: Session, terminal: Terminal): Promise<void>;
}

const HELP = { help: { kind: 'boolean', short: 'h', help: 'Print this help' } } as const satisfies SettingSpecs;

/** Defines a command that calls an API server: flags, help and connection are shared. */
export function defineCommand<S extends SettingSpecs>(form: CommandForm<S>): Command {
  const specs = { ...form.settings, ...CONNECTION_SETTINGS, ...HELP };
  return {
    settings: specs,
    run: async (argv, terminal) => {
      const given = readArguments(specs, argv);
      if (given.settings.help) {
        terminal.print(`holdfast ${form.usage}\n\n${form.about}\n\n${describeFlags(specs).trimEnd()}`);
        return;
      }
      await using session = await openSession(given.settings, terminal);
      await form.act(given, session, terminal);
    },
  };
}
