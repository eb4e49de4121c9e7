import { readFileSync } from 'node:fs';
import type { Json } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';

/** The file is invalid. The message has one line per mistake, each with its field. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

export interface ConfigurationForm<T> {
  /** What the file is, for error messages: `the scheduler's configuration`. */
  readonly what: string;
  readonly nextStep: string;
  /** Throws a ConfigurationError that names every mistake. */
  decode(file: Json): T;
}

/** Reads the file of `--config` as YAML or JSON. Throws an OperatorError that names every mistake. */
export async function readConfigurationFile<T>(path: string, form: ConfigurationForm<T>): Promise<T> {
  // Loaded on demand: without a file the parser is not needed.
  const { parse } = await import('yaml');
  try {
    return form.decode(decodeYaml(readFileSync(path, 'utf8'), parse));
  } catch (error) {
    if (!isMistake(error)) throw error;
    throw new OperatorError({
      code: 'BadConfiguration',
      message: `${form.what} ${path} cannot be used:\n${error.message}`,
      nextStep: form.nextStep,
      exitCode: 2,
      cause: error,
    });
  }
}

function decodeYaml(text: string, parse: (text: string) => unknown): Json {
  return (parse(text) ?? null) as Json;
}

/** True for mistakes in the file and faults of the machine. Any other error is a bug. */
const isMistake = (error: unknown): error is Error =>
  error instanceof Error &&
  (error instanceof ConfigurationError || error.name.startsWith('YAML') || ('code' in error && 'syscall' in error));
