import { createRequire } from 'node:module';
import { JsonSyntaxError, type ParsedJson, parseJson, refuseTooManyValues, StatusError } from '@holdfast/machinery';
import { YamlTooLargeError } from './yaml-errors.ts';

export { YamlSyntaxError } from './yaml-errors.ts';

type YamlBody = typeof import('./yaml-body.ts');

/** Few clients speak YAML: its library is loaded for the first of them. */
let loaded: YamlBody | undefined;

function yamlModule(): YamlBody {
  loaded ??= createRequire(import.meta.url)('./yaml-body.ts') as YamlBody;
  return loaded;
}

export function parseYamlText(text: string): ParsedJson {
  const json = parseJsonInYaml(text);
  if (json !== undefined) return json;
  const parsed = readHere(text);
  refuseTooManyValues(parsed.value);
  return parsed;
}

function readHere(text: string): ParsedJson {
  try {
    return yamlModule().readYaml(text);
  } catch (error) {
    if (error instanceof YamlTooLargeError) throw yamlTooLarge(error.message);
    throw error;
  }
}

export const yamlTooLarge = (why: string): StatusError =>
  new StatusError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: ${why}; send the object as JSON`,
  });

export const stringifyYaml = (value: unknown): string => yamlModule().stringifyYaml(value);

/** Every client of server-side apply sends JSON under the name of YAML. */
export function parseJsonInYaml(text: string): ParsedJson | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const parsed = parseJson(text);
    return parsed.duplicates.length === 0 ? parsed : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
