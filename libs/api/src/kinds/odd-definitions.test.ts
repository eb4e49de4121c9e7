import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals } from './testing.ts';

const OPEN: JsonObject = { openAPIV3Schema: { type: 'object' } };
const version = (rest: JsonObject = {}): JsonObject => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: OPEN,
  ...rest,
});
const NAMES: JsonObject = { plural: 'things', kind: 'Thing' };
const crd = (rest: JsonObject, name = 'things.a.io'): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: { group: 'a.io', scope: 'Namespaced', names: NAMES, versions: [version()], ...rest },
});
const check = (cases: readonly (readonly [rest: JsonObject, errors: readonly string[]])[]): void => {
  for (const [rest, errors] of cases) compareTexts(refusals(crd(rest)), errors, JSON.stringify(rest));
};

test('definitions of custom resources: the whole object', () => {
  check([
    [{}, []],
    [{ scope: '' }, ['spec.scope: Required value']],
    [{ scope: 'A' }, ['spec.scope: Unsupported value: "A": supported values: "Cluster", "Namespaced"']],
    [
      { names: { ...NAMES, kind: 'Thing', listKind: 'Thing', shortNames: ['A'] } },
      [
        'spec.names.shortNames[0]: Invalid value: "A": a DNS-1035 label must…',
        'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same',
      ],
    ],
    [
      { names: { ...NAMES, kind: 'T_x' } },
      [
        'spec.names.singular: Invalid value: "t_x": a DNS-1035 label must…',
        'spec.names.kind: Invalid value: "T_x": may have mixed case, but should otherwise match: a DNS-1035 label…',
        'spec.names.listKind: Invalid value: "T_xList": may have mixed case, but should otherwise match: a DNS-…',
      ],
    ],
    [
      { preserveUnknownFields: true },
      [
        'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields…',
      ],
    ],
    [
      { conversion: { strategy: 'Webhook' } },
      [
        'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
        'spec.conversion.conversionReviewVersions: Required value',
      ],
    ],
    [
      { conversion: { strategy: 'None', webhook: { conversionReviewVersions: ['v1'] } } },
      ['spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook'],
    ],
  ]);
  compareTexts(
    refusals(crd({}, 'other')),
    ['metadata.name: Invalid value: "other": must be spec.names.plural+"."+spec.group'],
    'name',
  );
});

test('definitions of custom resources: versions', () => {
  const one = (rest: JsonObject): JsonObject => ({ versions: [version(rest)] });
  check([
    [
      { versions: [{ name: 'v1', served: true, storage: true }] },
      ['spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required'],
    ],
    [
      one({ schema: { openAPIV3Schema: { type: 'string', properties: { b: {}, a: { type: 'array', items: {} } } } } }),
      [
        'spec.validation.openAPIV3Schema.properties[a].items.type: Required value: must not be empty for specified array items',
        'spec.validation.openAPIV3Schema.properties[b].type: Required value: must not be empty for specified object fields',
        'spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
      ],
    ],
    [
      { versions: [version(), version({ name: 'v2', storage: false, schema: { openAPIV3Schema: {} } })] },
      ['spec.versions[1].schema.openAPIV3Schema.type: Required value: must not be empty at the root'],
    ],
    [
      one({ storage: false }),
      [
        'spec.versions: Invalid value: []apiextensions.CustomResourceDefinitionVersion{apiextensions.CustomResourceDefinitionVersion{Name:"v1", Served:true, Storage:false, Deprecated:false, DeprecationWarning:(*string)(nil), Schema:(*apiextensions.CustomResourceValidation)(nil), Subresources:(*apiextensions.CustomResourceSubresources)(nil), AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition(nil), SelectableFields:[]apiextensions.SelectableField(nil)}}: must have exactly one version marked as storage version',
        'status.storedVersions: Invalid value: []string(nil): must have at least one stored version',
      ],
    ],
    [
      one({ deprecationWarning: 'a' }),
      ['spec.versions[0].deprecationWarning: Invalid value: "a": can only be set for deprecated versions'],
    ],
    [
      one({ deprecated: true, deprecationWarning: '' }),
      ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'],
    ],
    [
      one({ subresources: { scale: { specReplicasPath: '.status.a', statusReplicasPath: 'a' } } }),
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.a": should be a json path under .spec',
        'spec.subresources.scale.statusReplicasPath: Invalid value: "a": should be a json path under .',
        'spec.subresources.scale.statusReplicasPath: Invalid value: "a": should be a json path under .status',
      ],
    ],
    [
      one({ additionalPrinterColumns: [{ name: '', type: 'a', format: 'b', jsonPath: '' }] }),
      [
        'spec.additionalPrinterColumns[0].name: Required value',
        'spec.additionalPrinterColumns[0].type: Invalid value: "a": must be one of boolean,date,integer,number,string',
        'spec.additionalPrinterColumns[0].format: Invalid value: "b": must be one of byte,date,…',
        'spec.additionalPrinterColumns[0].JSONPath: Required value',
      ],
    ],
  ]);
});

test('definitions of custom resources: changes', () => {
  compareTexts(changeRefusals(crd({}), crd({ scope: 'Cluster' })), [], 'not established');
  compareTexts(
    changeRefusals(crd({}), crd({ names: { ...NAMES, plural: 'others' } })),
    ['spec.names.plural: Invalid value: "others": field is immutable'],
    'plural',
  );
  compareTexts(
    changeRefusals(crd({}), crd({ versions: [version({ name: 'v2' })] })),
    ['status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions'],
    'version',
  );
});

test('events of the new group: refused fields', () => {
  const event = (rest: JsonObject = {}): JsonObject => ({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'x', namespace: 'default' },
    eventTime: '2026-01-01T00:00:00.000001Z',
    reportingController: 'a.b/c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
    type: 'Normal',
    regarding: { namespace: 'default' },
    ...rest,
  });
  const told = (rest: JsonObject, errors: readonly string[]): void => {
    compareTexts(refusals(event(rest)), errors, JSON.stringify(rest));
  };
  told({}, []);
  told({ action: '', type: 'A' }, ['action: Required value', 'type: Invalid value: "": has invalid value: A']);
  told({ series: { count: 1 } }, [
    'series.count: Invalid value: "": should be at least 2',
    'series.lastObservedTime: Required value',
  ]);
  told({ deprecatedCount: 1, deprecatedSource: { host: 'h' } }, [
    'count: Invalid value: "": needs to be unset',
    'source: Invalid value: "": needs to be unset',
  ]);
  compareTexts(
    changeRefusals(event(), event({ reason: 's', action: 'b', note: 'n' })),
    [
      'reason: Invalid value: "s": field is immutable',
      'message: Invalid value: "n": field is immutable',
      'reason: Invalid value: "s": field is immutable',
      'action: Invalid value: "b": field is immutable',
    ],
    'changes',
  );
  const series = { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' };
  compareTexts(changeRefusals(event(), event({ series })), [], 'a series may begin');
});
