import { readFileSync } from 'node:fs';
import type { Json } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';

/** The file cannot be used; one mistake per line, each with its field. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

export interface ConfigurationForm<T> {
  /** In the words of the operator, such as `the scheduler's configuration`. */
  readonly what: string;
  readonly nextStep: string;
  /** Throws a ConfigurationError that names every mistake. */
  decode(file: Json): T;
}

/** The file of `--config`, YAML or JSON, or an OperatorError that names every mistake in it. */
export async function readConfigurationFile<T>(path: string, form: ConfigurationForm<T>): Promise<T> {
  // Loaded on demand: without a file nobody pays for the parser.
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

/** Of the one who wrote the file, or of the machine; anything else is ours. */
const isMistake = (error: unknown): error is Error =>
  error instanceof Error &&
  (error instanceof ConfigurationError || error.name.startsWith('YAML') || ('code' in error && 'syscall' in error));
