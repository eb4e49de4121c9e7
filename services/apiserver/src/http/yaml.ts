import { createRequire } from 'node:module';
import type { ParsedJson } from '@holdfast/machinery';

type YamlBody = typeof import('./yaml-body.ts');

/** Few clients speak YAML: its library is loaded for the first of them. */
let loaded: YamlBody | undefined;

function yamlModule(): YamlBody {
  loaded ??= createRequire(import.meta.url)('./yaml-body.ts') as YamlBody;
  return loaded;
}

export const parseYamlText = (text: string): ParsedJson => yamlModule().parseYamlText(text);
export const stringifyYaml = (value: unknown): string => yamlModule().stringifyYaml(value);
