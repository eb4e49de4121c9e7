import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** One field of a message, combined from both kinds of source files. */
export interface MessageField {
  readonly number: number;
  readonly json: string;
  /** Proto type: `string`, `int32`, `k8s.io.api.core.v1.Container`. */
  readonly type: string;
  readonly shape: 'one' | 'list' | 'map';
  /** `pointer`: a zero on the wire is a value, and what is not there is not written. `printed`: always written, and always printed. */
  readonly presence: 'omitted when zero' | 'pointer' | 'printed';
  /** Its fields stand in the parent's JSON object. */
  readonly inline: boolean;
}

export type Messages = ReadonlyMap<string, readonly MessageField[]>;

/** A field in the type declarations, by struct and field number. */
interface GoField {
  readonly json: string;
  readonly pointer: boolean;
  readonly omitEmpty: boolean;
  readonly inline: boolean;
}

/**
 * Reads `generated.proto` and the type declarations beside it, for every package below `root` (the folder `k8s.io`).
 */
export function readMessages(root: string, packages: readonly string[]): Messages {
  const messages = new Map<string, readonly MessageField[]>();
  for (const folder of packages) {
    const prefix = `k8s.io.${folder.replaceAll('/', '.')}`;
    const structs = readStructs(path.join(root, folder));
    const proto = stripComments(readFileSync(path.join(root, folder, 'generated.proto'), 'utf8'));
    for (const [, name = '', body = ''] of proto.matchAll(/message (\w+) \{([^}]*)\}/g)) {
      messages.set(`${prefix}.${name}`, readFields(body, prefix, structs.get(name)));
    }
  }
  return messages;
}

function readFields(body: string, prefix: string, struct: ReadonlyMap<number, GoField> | undefined): MessageField[] {
  const fields: MessageField[] = [];
  for (const [, label, type = '', name = '', number = ''] of body.matchAll(
    /(optional|repeated|map)\s*(<[^>]+>|[\w.]+) (\w+) = (\d+);/g,
  )) {
    const go = struct?.get(Number(number));
    const valueType = label === 'map' ? (type.slice(1, -1).split(',')[1] ?? '').trim() : type;
    fields.push({
      number: Number(number),
      json: go?.json ?? name,
      type: absolute(valueType, prefix),
      shape: label === 'map' ? 'map' : label === 'repeated' ? 'list' : 'one',
      presence: presenceOf(go),
      inline: go?.inline ?? false,
    });
  }
  return fields;
}

function presenceOf(go: GoField | undefined): MessageField['presence'] {
  if (go === undefined || go.pointer) return 'pointer';
  return go.omitEmpty ? 'omitted when zero' : 'printed';
}

const SCALARS = new Set(['string', 'bool', 'int32', 'int64', 'uint32', 'uint64', 'double', 'float', 'bytes']);

function absolute(type: string, prefix: string): string {
  if (SCALARS.has(type)) return type;
  return type.includes('.') ? type.replace(/^\./, '') : `${prefix}.${type}`;
}

function readStructs(folder: string): ReadonlyMap<string, ReadonlyMap<number, GoField>> {
  const structs = new Map<string, Map<number, GoField>>();
  for (const file of globSync('*.go', { cwd: folder }).filter((name) => !/_test\.go|generated/.test(name))) {
    const text = stripComments(readFileSync(path.join(folder, file), 'utf8'));
    for (const [, name = '', body = ''] of text.matchAll(/type (\w+) struct \{\n([\s\S]*?)\n\}/g)) {
      structs.set(name, readStructFields(body));
    }
  }
  return structs;
}

function readStructFields(body: string): Map<number, GoField> {
  const fields = new Map<number, GoField>();
  for (const line of body.split('\n')) {
    const [, declaration = '', tags = ''] = /^\s*(\S.*?)\s+`(.*)`/.exec(line) ?? [];
    const number = /protobuf:"\w+,(\d+),/.exec(tags)?.[1];
    const json = /json:"([^"]*)"/.exec(tags)?.[1];
    if (number === undefined || json === undefined) continue;
    const [name = '', ...options] = json.split(',');
    const type = declaration.split(/\s+/)[1] ?? declaration;
    fields.set(Number(number), {
      json: name === '' ? lowerFirst(declaration.split(/[\s.]+/).at(-1) ?? '') : name,
      pointer: type.startsWith('*'),
      omitEmpty: options.includes('omitempty'),
      inline: options.includes('inline'),
    });
  }
  return fields;
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
const stripComments = (text: string): string => text.replace(/^\s*\/\/.*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '');
