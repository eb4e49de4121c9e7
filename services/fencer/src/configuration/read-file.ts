import { readFileSync } from 'node:fs';
import type { Json } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';
import { ConfigurationError, decodeConfiguration, type FencerConfiguration } from './configuration.ts';

/** The file of `--config`, or an OperatorError that names every mistake in it. */
export async function readConfigurationFile(path: string): Promise<FencerConfiguration> {
  const { parse } = await import('yaml');
  try {
    return decodeConfiguration(decodeYaml(readFileSync(path, 'utf8'), parse));
  } catch (error) {
    const mistakes = error instanceof ConfigurationError || isReadError(error);
    if (!mistakes && !(error instanceof Error && error.name.startsWith('YAML'))) throw error;
    throw new OperatorError({
      code: 'BadConfiguration',
      message: `the fencer's configuration ${path} cannot be used:\n${error.message}`,
      nextStep: 'Correct the file; docs/fencing.md lists what it may hold.',
      exitCode: 2,
      cause: error,
    });
  }
}

function decodeYaml(text: string, parse: (text: string) => unknown): Json {
  return (parse(text) ?? null) as Json;
}

const isReadError = (error: unknown): error is Error => error instanceof Error && 'code' in error && 'syscall' in error;
