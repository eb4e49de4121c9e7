import { deepEqual, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault, setDefaultOfZero } from '../../defaults/set.ts';
import { BOOTSTRAP_FLOW_SCHEMAS } from '../../flow-control/bootstrap-schemas.ts';
import { byPrecedence } from '../../flow-control/precedence.ts';
import type {
  FlowcontrolV1Subject,
  FlowSchema,
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
} from '../../generated/types.ts';
import { FLOW_SCHEMAS } from '../../refs.ts';
import { validateDnsLabel, validateDnsSubdomain, validateRequiredText } from '../../validation/check.ts';
import { validateTypedConditions } from '../../validation/conditions.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { goString, goStrings, goStruct } from '../../validation/go-text.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusAlone } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;
const PRECEDENCE_MAX = 10_000;
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

export const flowSchemaResource = defineResource(FLOW_SCHEMAS, {
  setDefaults: (schema) => {
    setDefault(schema, 'spec', { priorityLevelConfiguration: { name: '' }, matchingPrecedence: 1000 });
    setDefault(schema, 'status', {});
    setDefaultOfZero(schema.spec, 'matchingPrecedence', 1000);
    setDefault(schema.spec, 'priorityLevelConfiguration', { name: '' });
  },
  strategy: {
    prepareForCreate: (schema) => {
      schema.status = {};
    },
    prepareForUpdate: keepStatus,
    ...checkedInSteps<FlowSchema>(META, { whole: validateSchema, onUpdate: ['whole'] }),
    generationChanges: specChanged,
    allowUnconditionalUpdate: true,
  },
  status: statusAlone(({ status }) => {
    const out: FieldError[] = [];
    validateTypedConditions(out, 'status.conditions', status.conditions);
    return out;
  }),
  rowOrder: byPrecedence,
  columns: [
    nameColumn,
    textColumn('PriorityLevel', 'How requests are treated', ({ spec }) => spec.priorityLevelConfiguration.name),
    textColumn('MatchingPrecedence', 'The lowest wins', ({ spec }) => spec.matchingPrecedence ?? 0),
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

function validateSchema(out: FieldError[], { metadata, spec, status }: Readonly<FlowSchema>): void {
  const name = metadata.name ?? '';
  validateSpec(out, spec, name);
  const fixed = FIXED_SPECS.get(name);
  if (fixed !== undefined && !deepEqual(spec, fixed)) {
    out.push(
      invalid('spec', goValue('flowcontrol.FlowSchemaSpec', spec), `spec of '${name}' must equal the fixed value`),
    );
  }
  validateTypedConditions(out, 'status.conditions', status.conditions);
}

const FIXED_SPECS: ReadonlyMap<string, FlowSchemaSpec> = new Map(
  BOOTSTRAP_FLOW_SCHEMAS.filter(({ isMandatory }) => isMandatory).map(({ name, spec }) => [name, spec]),
);

const METHODS = ['ByNamespace', 'ByUser'];

function validateSpec(out: FieldError[], spec: Readonly<FlowSchemaSpec>, name: string): void {
  const precedence = spec.matchingPrecedence ?? 0;
  if (precedence <= 0) out.push(invalid('spec.matchingPrecedence', precedence, 'must be a positive value'));
  if (precedence > PRECEDENCE_MAX) {
    out.push(invalid('spec.matchingPrecedence', precedence, `must not be greater than ${PRECEDENCE_MAX}`));
  }
  if (precedence === 1 && name !== 'exempt')
    out.push(
      invalid('spec.matchingPrecedence', precedence, "only the schema named 'exempt' may have matchingPrecedence 1"),
    );
  const method = spec.distinguisherMethod;
  if (method !== undefined && !METHODS.includes(method.type)) {
    const shown = goStruct('flowcontrol.FlowDistinguisherMethod', { Type: goString(method.type) });
    out.push(notSupported('spec.distinguisherMethod.type', shown, METHODS));
  }
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
  for (const [i, resourceRule] of resourceRules.entries()) {
    validateResourceRule(out, `${path}.resourceRules[${i}]`, resourceRule);
  }
  for (const [i, { verbs, nonResourceURLs }] of nonResourceRules.entries()) {
    const at = `${path}.nonResourceRules[${i}]`;
    validateVerbs(out, `${at}.verbs`, verbs ?? []);
    validateUrls(out, `${at}.nonResourceURLs`, nonResourceURLs ?? []);
  }
}

function validateResourceRule(out: FieldError[], path: string, rule: Readonly<ResourcePolicyRule>): void {
  validateVerbs(out, `${path}.verbs`, rule.verbs ?? []);
  for (const [key, one, many] of LISTS) {
    const values = rule[key] ?? [];
    const at = `${path}.${key}`;
    if (values.length === 0) out.push(required(at, `resource rules must supply at least one ${one}`));
    else if (values.length > 1 && values.includes('*')) out.push(invalid(at, goStrings(values), onlyAll(many)));
  }
  validateNamespaces(out, `${path}.namespaces`, rule);
}

const LISTS = [
  ['apiGroups', 'api group', 'api groups'],
  ['resources', 'resource', 'resources'],
] as const;

const onlyAll = (others: string): string => `if '*' is present, must not specify other ${others}`;

function validateNamespaces(out: FieldError[], path: string, rule: Readonly<ResourcePolicyRule>): void {
  const { namespaces = [], clusterScope } = rule;
  if (namespaces.length === 0 && clusterScope !== true) {
    const detail = 'resource rules that are not cluster scoped must supply at least one namespace';
    out.push(required(path, detail));
  } else if (namespaces.includes('*')) {
    if (namespaces.length > 1) out.push(invalid(path, goStrings(namespaces), onlyAll('namespaces')));
  } else {
    for (const [i, namespace] of namespaces.entries()) {
      for (const text of dnsLabelErrors(namespace)) {
        const detail = `each member of this list must be '*' or a DNS-1123 label; ${text}`;
        out.push(invalid(`${path}[${i}]`, namespace, detail));
      }
    }
  }
}

function validateUrls(out: FieldError[], path: string, urls: readonly string[]): void {
  if (urls.length === 0) out.push(required(path, 'nonResourceURLs must contain at least one value'));
  else if (urls.includes('*')) {
    if (urls.length > 1) out.push(invalid(path, goStrings(urls), onlyAll('non-resource URLs')));
  } else {
    for (const [i, url] of urls.entries()) {
      const problem = urlProblem(url);
      if (problem !== undefined) out.push(invalid(`${path}[${i}]`, url, problem));
    }
  }
}

function urlProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const stars = url.split('*').length - 1;
  return stars > 1 || (stars === 1 && !url.endsWith('/*')) ? 'wildcard can only do suffix matching' : undefined;
}

function validateVerbs(out: FieldError[], path: string, verbs: readonly string[]): void {
  if (verbs.length === 0) out.push(required(path, 'verbs must contain at least one value'));
  else if (verbs.includes('*')) {
    if (verbs.length > 1) out.push(invalid(path, goStrings(verbs), onlyAll('verbs')));
  } else if (!verbs.every((verb) => VERBS.includes(verb))) out.push(notSupported(path, goStrings(verbs), VERBS));
}

const BODIES = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const;

/** Checks the field of the subject's own kind first. */
function validateSubject(out: FieldError[], path: string, subject: Readonly<FlowcontrolV1Subject>): void {
  const { kind } = subject;
  if (!isSubjectKind(kind)) {
    out.push(notSupported(`${path}.kind`, kind ?? '', Object.keys(BODIES).sort()));
    return;
  }
  const field = BODIES[kind];
  if (subject[field] === undefined) {
    out.push(required(`${path}.${field}`, `${field} is required when subject kind is '${kind}'`));
  } else validateSubjectBody(out, `${path}.${field}`, subject);
  for (const [name, other] of Object.entries(BODIES)) {
    if (name === kind || subject[other] === undefined) continue;
    out.push(forbidden(`${path}.${other}`, `${other} is forbidden when subject kind is not '${name}'`));
  }
}

function validateSubjectBody(out: FieldError[], path: string, subject: Readonly<FlowcontrolV1Subject>): void {
  const { kind, serviceAccount } = subject;
  if (kind !== 'ServiceAccount' || serviceAccount === undefined) {
    validateRequiredText(out, `${path}.name`, (kind === 'User' ? subject.user : subject.group)?.name);
    return;
  }
  const { name, namespace } = serviceAccount;
  if (validateRequiredText(out, `${path}.name`, name) && name !== '*') validateDnsSubdomain(out, `${path}.name`, name);
  if (validateRequiredText(out, `${path}.namespace`, namespace, 'must specify namespace for service account')) {
    validateDnsLabel(out, `${path}.namespace`, namespace);
  }
}

const isSubjectKind = (kind: string): kind is keyof typeof BODIES => Object.hasOwn(BODIES, kind);
