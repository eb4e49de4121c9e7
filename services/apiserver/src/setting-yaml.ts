import type { Json } from '@holdfast/machinery';
import { describeError, OperatorError } from '@holdfast/platform';

/** Parses an operator's file to JSON. Loads the parser on demand. */
export async function parseSettingYaml(text: string, path: string): Promise<Json> {
  const { parse } = await import('yaml');
  try {
    return (parse(text) ?? null) as Json;
  } catch (error) {
    const [sentence = ''] = describeError(error).split('\n');
    throw new OperatorError({
      code: 'FILE',
      message: `The file ${path} is not valid YAML: ${sentence}`,
      nextStep: 'Correct the file.',
      exitCode: 2,
      cause: error,
    });
  }
}
