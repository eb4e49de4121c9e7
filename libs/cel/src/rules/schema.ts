import type { JsonObject } from '@holdfast/machinery';
import { isNumeric, ownValue } from '@holdfast/machinery';

/** A schema as written in a definition. Users choose the property names, so never look them up on a plain object. */
export type Schema = JsonObject;

export function objectAt(schema: Schema, key: string): Schema | undefined {
  const value = ownValue(schema, key);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;
}

export function listAt(schema: Schema, key: string): readonly Schema[] {
  const value = ownValue(schema, key);
  if (!Array.isArray(value)) return [];
  return value.filter((each): each is Schema => typeof each === 'object' && each !== null && !Array.isArray(each));
}

export function textAt(schema: Schema, key: string): string | undefined {
  const value = ownValue(schema, key);
  return typeof value === 'string' ? value : undefined;
}

export function textsAt(schema: Schema, key: string): readonly string[] {
  const value = ownValue(schema, key);
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

export function numberAt(schema: Schema, key: string): number | undefined {
  const value = ownValue(schema, key);
  return isNumeric(value) ? Number(value) : undefined;
}

export function* entriesOf(properties: Schema | undefined): Iterable<readonly [string, Schema]> {
  for (const name of Object.keys(properties ?? {})) {
    const property = objectAt(properties as Schema, name);
    if (property !== undefined) yield [name, property];
  }
}

/** One entry of `x-kubernetes-validations`. */
export interface RuleText {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
}

export function rulesOf(schema: Schema): readonly RuleText[] {
  return listAt(schema, 'x-kubernetes-validations').map((each) => {
    const optional = ownValue(each, 'optionalOldSelf');
    return {
      rule: textAt(each, 'rule') ?? '',
      message: textAt(each, 'message') ?? '',
      messageExpression: textAt(each, 'messageExpression') ?? '',
      reason: textAt(each, 'reason'),
      fieldPath: textAt(each, 'fieldPath') ?? '',
      optionalOldSelf: typeof optional === 'boolean' ? optional : undefined,
    };
  });
}
