import { type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import { ageColumn, integerColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type {
  FlowcontrolV1Subject,
  FlowSchema,
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
} from '../../generated/types.ts';
import { FLOW_SCHEMAS } from '../../refs.ts';
import { validateDnsLabel, validateDnsSubdomain, validateRequiredText, validateWord } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goStrings } from '../../validation/go-text.ts';
import { checked, checkedUpdate } from '../checked.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;
const PRECEDENCE_MAX = 10_000;
const VERBS = ['*', 'create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

export const flowSchemaResource = defineResource(FLOW_SCHEMAS, {
  setDefaults: (schema) => {
    setDefault(schema, 'spec', { priorityLevelConfiguration: { name: '' }, matchingPrecedence: 1000 });
    setDefault(schema, 'status', {});
    setDefault(schema.spec, 'matchingPrecedence', 1000);
    setDefault(schema.spec, 'priorityLevelConfiguration', { name: '' });
  },
  strategy: {
    prepareForCreate: (schema) => {
      schema.status = {};
    },
    prepareForUpdate: keepStatus,
    ...checked<FlowSchema>(META, (out, { spec }) => validateSpec(out, spec)),
    generationChanges: specChanged,
    allowUnconditionalUpdate: false,
  },
  status: statusOnly(checkedUpdate(() => {})),
  columns: [
    nameColumn,
    textColumn('PriorityLevel', 'How requests are treated', ({ spec }) => spec.priorityLevelConfiguration.name),
    integerColumn('MatchingPrecedence', 'The lowest wins', ({ spec }) => spec.matchingPrecedence ?? 0),
    textColumn(
      'DistinguisherMethod',
      'What makes requests one flow',
      ({ spec }) => spec.distinguisherMethod?.type ?? '<none>',
    ),
    ageColumn,
    textColumn('MissingPL', 'Whether the priority level is missing', ({ status }) => {
      return status.conditions?.find((condition) => condition.type === 'Dangling')?.status ?? '?';
    }),
  ],
});

function validateSpec(out: FieldError[], spec: Readonly<FlowSchemaSpec>): void {
  const precedence = spec.matchingPrecedence ?? 0;
  if (precedence <= 0) out.push(invalid('spec.matchingPrecedence', precedence, 'must be a positive value'));
  if (precedence > PRECEDENCE_MAX) {
    out.push(invalid('spec.matchingPrecedence', precedence, `must not be greater than ${PRECEDENCE_MAX}`));
  }
  if (precedence === 1)
    out.push(
      invalid('spec.matchingPrecedence', precedence, "only the schema named 'exempt' may have matchingPrecedence 1"),
    );
  validateWord(out, 'spec.distinguisherMethod.type', spec.distinguisherMethod?.type, ['ByNamespace', 'ByUser']);
  const level = spec.priorityLevelConfiguration?.name ?? '';
  if (level === '') out.push(required('spec.priorityLevelConfiguration.name', 'must reference a priority level'));
  else validateDnsSubdomain(out, 'spec.priorityLevelConfiguration.name', level);
  for (const [i, rule] of (spec.rules ?? []).entries()) validateRule(out, `spec.rules[${i}]`, rule);
}

function validateRule(out: FieldError[], path: string, rule: Readonly<PolicyRulesWithSubjects>): void {
  const { resourceRules = [], nonResourceRules = [] } = rule;
  const subjects = rule.subjects ?? [];
  if (subjects.length === 0) out.push(required(`${path}.subjects`, 'subjects must contain at least one value'));
  for (const [i, subject] of subjects.entries()) validateSubject(out, `${path}.subjects[${i}]`, subject);
  if (resourceRules.length === 0 && nonResourceRules.length === 0) {
    out.push(required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  for (const [i, { verbs = [], apiGroups = [], resources = [] }] of resourceRules.entries()) {
    const at = `${path}.resourceRules[${i}]`;
    validateVerbs(out, `${at}.verbs`, verbs);
    if (apiGroups.length === 0)
      out.push(required(`${at}.apiGroups`, 'resource rules must supply at least one api group'));
    if (resources.length === 0)
      out.push(required(`${at}.resources`, 'resource rules must supply at least one resource'));
  }
  for (const [i, { verbs = [], nonResourceURLs = [] }] of nonResourceRules.entries()) {
    const at = `${path}.nonResourceRules[${i}]`;
    validateVerbs(out, `${at}.verbs`, verbs);
    if (nonResourceURLs.length === 0) {
      out.push(required(`${at}.nonResourceURLs`, 'nonResourceURLs must contain at least one value'));
    }
  }
}

function validateVerbs(out: FieldError[], path: string, verbs: readonly string[]): void {
  if (verbs.length === 0) out.push(required(path, 'verbs must contain at least one value'));
  else if (verbs.length > 1 && verbs.includes('*')) {
    out.push(invalid(path, goStrings(verbs), "if '*' is present, must not specify other verbs"));
  } else if (!verbs.every((verb) => VERBS.includes(verb))) out.push(notSupported(path, goStrings(verbs), VERBS));
}

const BODIES = { Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' } as const;

function validateSubject(out: FieldError[], path: string, subject: Readonly<FlowcontrolV1Subject>): void {
  const { kind } = subject;
  if (!isSubjectKind(kind)) {
    out.push(notSupported(`${path}.kind`, kind ?? '', Object.keys(BODIES)));
    return;
  }
  for (const [name, field] of Object.entries(BODIES)) {
    const given = subject[field] !== undefined;
    const words = field === 'serviceAccount' ? 'service account' : field;
    if (name === kind && !given)
      out.push(required(`${path}.${field}`, `${field} is required when subject kind is '${kind}'`));
    if (name !== kind && given)
      out.push(forbidden(`${path}.${field}`, `${words} is forbidden when subject kind is not '${name}'`));
  }
  if (kind !== 'ServiceAccount') {
    const name = subject[BODIES[kind]]?.name;
    if (subject[BODIES[kind]] !== undefined) validateRequiredText(out, `${path}.${BODIES[kind]}.name`, name);
  } else if (subject.serviceAccount !== undefined) {
    validateRequiredText(out, `${path}.serviceAccount.name`, subject.serviceAccount.name);
    const { namespace } = subject.serviceAccount;
    if (!namespace)
      out.push(required(`${path}.serviceAccount.namespace`, 'must specify namespace for service account'));
    else if (namespace !== '*') validateDnsLabel(out, `${path}.serviceAccount.namespace`, namespace);
  }
}

const isSubjectKind = (kind: string): kind is keyof typeof BODIES => Object.hasOwn(BODIES, kind);
