import type { ExpressionWarning, ValidatingAdmissionPolicy } from '@holdfast/api';
import type { CelType, Environment } from '@holdfast/cel';
import type { Catalog } from '../../endpoints/catalog.ts';
import type { ServedKind } from '../../endpoints/served-kinds.ts';
import {
  POLICY_EXPRESSIONS_CHECKED,
  POLICY_KINDS_CHECKED,
  POLICY_WARNING_CHARS_MAX,
  POLICY_WARNINGS_CHARS_MAX,
} from '../../limits.ts';
import type { Parts } from '../../turns/parts.ts';
import { variableParts } from './compiled-policies.ts';
import { compileText } from './expressions.ts';
import { typeOfKind } from './kind-types.ts';
import { groupVersionOf } from './policy-params.ts';

type Policy = Readonly<ValidatingAdmissionPolicy>;

interface CheckedKind {
  /** `apps/v1, Kind=Deployment` */
  readonly title: string;
  readonly environment: Environment;
}

/** Type-checks the validations of a policy for the kinds in its rules. The result never changes the policy's effect. */
export function* policyWarnings(policy: Policy, catalog: Catalog): Parts<readonly ExpressionWarning[]> {
  const warnings: ExpressionWarning[] = [];
  const kinds = yield* checkedKinds(policy, catalog);
  let room = POLICY_WARNINGS_CHARS_MAX;
  for (const { fieldRef, text } of expressionsOf(policy)) {
    const warning = yield* warningOf(text, kinds);
    if (warning === '') continue;
    room -= warning.length;
    if (room < 0) break;
    warnings.push({ fieldRef, warning });
  }
  return warnings;
}

function expressionsOf({ spec }: Policy): readonly { readonly fieldRef: string; readonly text: string }[] {
  const all = (spec.validations ?? []).flatMap(({ expression, messageExpression = '' }, index) => [
    { fieldRef: `spec.validations[${index}].expression`, text: expression },
    { fieldRef: `spec.validations[${index}].messageExpression`, text: messageExpression },
  ]);
  return all.filter(({ text }) => text !== '').slice(0, POLICY_EXPRESSIONS_CHECKED);
}

function* warningOf(text: string, kinds: readonly CheckedKind[]): Parts<string> {
  const found: string[] = [];
  for (const { title, environment } of kinds) {
    yield;
    const { problem } = compileText(text, environment);
    if (problem !== undefined) found.push(`${title}: ${problem.slice(0, POLICY_WARNING_CHARS_MAX)}\n`);
  }
  return found.join('\n');
}

function* checkedKinds(policy: Policy, catalog: Catalog): Parts<readonly CheckedKind[]> {
  const params = paramsTypeOf(policy, catalog);
  const checked: CheckedKind[] = [];
  for (const kind of kindsToCheck(policy, catalog)) {
    yield;
    const object = typeOfKind(kind);
    if (object === undefined) continue;
    const { environment } = yield* variableParts(policy, { object, params });
    checked.push({ title: titleOf(kind), environment });
  }
  return checked;
}

/** Kinds that rules name in full. Like Kubernetes, it leaves out rules with wildcards, and all beyond the tenth kind. */
export function kindsToCheck({ spec }: Policy, catalog: Catalog): readonly ServedKind[] {
  const found = new Map<string, ServedKind>();
  for (const { apiGroups = [], apiVersions = [], resources = [] } of spec.matchConstraints?.resourceRules ?? []) {
    if ([...apiGroups, ...apiVersions].some((each) => each.includes('*'))) continue;
    const plain = new Set(resources.filter((each) => !/[*/]/.test(each)));
    for (const group of new Set(apiGroups)) {
      for (const version of new Set(apiVersions)) {
        for (const kind of catalog.kindsOf(group, version)) {
          if (plain.has(kind.plural)) found.set(titleOf(kind), kind);
          if (found.size === POLICY_KINDS_CHECKED) return sorted(found);
        }
      }
    }
  }
  return sorted(found);
}

const sorted = (found: ReadonlyMap<string, ServedKind>): readonly ServedKind[] =>
  [...found.values()].toSorted(
    (a, b) => compare(a.group, b.group) || compare(a.version, b.version) || compare(a.kind, b.kind),
  );

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

const titleOf = ({ group, version, kind }: ServedKind): string => `${group}/${version}, Kind=${kind}`;

function paramsTypeOf({ spec }: Policy, catalog: Catalog): CelType | undefined {
  const { paramKind = {} } = spec;
  const { group, version } = groupVersionOf(paramKind);
  const found = catalog.kindsOf(group, version).find((each) => each.kind === paramKind.kind);
  return found === undefined ? undefined : typeOfKind(found);
}
