import { createRequire } from 'node:module';
import { JsonSyntaxError, type ParsedJson, parseJson, refuseTooManyValues } from '@holdfast/machinery';

export { YamlSyntaxError } from './yaml-syntax-error.ts';

type YamlBody = typeof import('./yaml-body.ts');

/** Few clients speak YAML: its library is loaded for the first of them. */
let loaded: YamlBody | undefined;

function yamlModule(): YamlBody {
  loaded ??= createRequire(import.meta.url)('./yaml-body.ts') as YamlBody;
  return loaded;
}

export function parseYamlText(text: string): ParsedJson {
  const json = asJson(text);
  if (json !== undefined) return json;
  const parsed = yamlModule().parseYamlText(text);
  refuseTooManyValues(parsed.value);
  return parsed;
}

export const stringifyYaml = (value: unknown): string => yamlModule().stringifyYaml(value);

/** Every client of server-side apply sends JSON under the name of YAML. */
function asJson(text: string): ParsedJson | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const parsed = parseJson(text);
    return parsed.duplicates.length === 0 ? parsed : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
