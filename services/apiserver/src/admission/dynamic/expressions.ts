import type { CelType, CelValue, Environment, ObjectType, Outcome, Program } from '@holdfast/cel';
import { cel } from '../../expressions/load.ts';

/** The names of an expression beside the variables of every request. */
export interface ExpressionScope {
  readonly params: boolean;
  /** The types that are known when a policy is checked against one kind. */
  readonly types?: KnownTypes | undefined;
}

/** Unknown types become dyn. */
export interface KnownTypes {
  readonly object: CelType;
  readonly params: CelType | undefined;
}

const STRING: CelType = { kind: 'string' };
const BOOL: CelType = { kind: 'bool' };
export const DYN: CelType = { kind: 'dyn' };
const listOf = (element: CelType): CelType => ({ kind: 'list', element });
const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value });

const text = (property: string): [string, { property: string; type: CelType }] => [
  property,
  { property, type: STRING },
];
const object = (name: string, ...fields: (readonly [string, { property: string; type: CelType }])[]): ObjectType => ({
  kind: 'object',
  name,
  fields: new Map(fields),
});
const field = (property: string, type: CelType): [string, { property: string; type: CelType }] => [
  property,
  { property, type },
];

const KIND = object('kubernetes.GroupVersionKind', text('group'), text('version'), text('kind'));
const RESOURCE = object('kubernetes.GroupVersionResource', text('group'), text('version'), text('resource'));
const USER = object(
  'kubernetes.UserInfo',
  text('username'),
  text('uid'),
  field('groups', listOf(STRING)),
  field('extra', mapOf(STRING, listOf(STRING))),
);

/** The variable `request`. */
export const REQUEST_TYPE: ObjectType = object(
  'kubernetes.AdmissionRequest',
  field('kind', KIND),
  field('resource', RESOURCE),
  text('subResource'),
  field('requestKind', KIND),
  field('requestResource', RESOURCE),
  text('requestSubResource'),
  text('name'),
  text('namespace'),
  text('operation'),
  field('userInfo', USER),
  field('dryRun', BOOL),
  field('options', DYN),
);

const NAMESPACE_META = object(
  'kubernetes.NamespaceMetadata',
  ...['name', 'generateName', 'namespace', 'uid', 'resourceVersion'].map(text),
  field('labels', mapOf(STRING, STRING)),
  field('annotations', mapOf(STRING, STRING)),
  field('creationTimestamp', { kind: 'timestamp' }),
  field('deletionTimestamp', { kind: 'timestamp' }),
  field('deletionGracePeriodSeconds', { kind: 'int' }),
  field('generation', { kind: 'int' }),
  field('finalizers', listOf(STRING)),
);

/** The variable `namespaceObject`. */
export const NAMESPACE_TYPE: ObjectType = object(
  'kubernetes.Namespace',
  field('metadata', NAMESPACE_META),
  field('spec', object('kubernetes.NamespaceSpec', field('finalizers', listOf(STRING)))),
  field('status', object('kubernetes.NamespaceStatus', text('phase'))),
);

function requestVariables(object: CelType = DYN): readonly (readonly [string, CelType])[] {
  const { AUTHORIZER, RESOURCE_CHECK } = cel();
  return [
    ['object', object],
    ['oldObject', object],
    ['request', REQUEST_TYPE],
    ['authorizer', AUTHORIZER],
    ['authorizer.requestResource', RESOURCE_CHECK],
  ];
}

/** Match conditions see the request and nothing else. */
export function conditionEnvironment(): Environment {
  return cel().kubernetesEnvironment(new Map(requestVariables()));
}

/** The environment of a policy. Its variables are declared one by one: an expression sees those that stand before it. */
export interface PolicyEnvironment {
  readonly environment: Environment;
  readonly declare: (name: string, type: CelType) => void;
}

export function policyEnvironment({ params, types }: ExpressionScope): PolicyEnvironment {
  const variables = new Map<string, { property: string; type: CelType }>();
  const environment = cel().kubernetesEnvironment(
    new Map<string, CelType>([
      ...requestVariables(types?.object),
      ['namespaceObject', NAMESPACE_TYPE],
      ['variables', { kind: 'object', name: 'kubernetes.variables', fields: variables }],
      ...(params ? ([['params', types?.params ?? DYN]] as const) : []),
    ]),
  );
  return { environment, declare: (name, type) => void variables.set(name, { property: name, type }) };
}

/** A program, or the sentence about the error in its expression. */
export type CompiledText =
  | { readonly program: Program; readonly problem?: undefined }
  | { readonly program?: undefined; readonly problem: string };

export function compileText(source: string, environment: Environment, wanted?: 'bool' | 'string'): CompiledText {
  const compiled = cel().compileExpression(source, environment);
  if (compiled.program === undefined) return { problem: `compilation failed: ${compiled.message}` };
  const { type } = compiled.program;
  if (wanted !== undefined && type.kind !== wanted) {
    // A type that is known only at run time might still be correct; Kubernetes refuses it, too.
    return { problem: `must evaluate to ${wanted} but got ${nameOf(type)}` };
  }
  return { program: compiled.program };
}

function nameOf(type: CelType): string {
  return type.kind === 'opaque' || type.kind === 'object' ? type.name : type.kind;
}

export type Values = (name: string) => CelValue | undefined;

export type { CelValue, Outcome, Program };
