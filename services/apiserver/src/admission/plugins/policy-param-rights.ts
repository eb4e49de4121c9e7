import {
  type ParamKind,
  VALIDATING_ADMISSION_POLICIES,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
} from '@holdfast/api';
import { deepEqual, type FieldError, forbidden, invalidObject } from '@holdfast/machinery';
import { MASTERS_GROUP } from '../../authentication/identity.ts';
import { isAllowed } from '../../authorization/chain.ts';
import { groupVersionOf, resourceOf } from '../dynamic/policy-params.ts';
import type { AdmissionDeps, AdmissionPlugin, AdmissionRequest } from '../port.ts';

/** The server reads the parameters of a policy with its own rights, and messages show them: who writes the policy must have these rights. */
export const createPolicyParamRights = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'PolicyParamRights',
  handles: ({ definition: { group, plural }, operation, subresource, user }) =>
    group === 'admissionregistration.k8s.io' &&
    (plural === 'validatingadmissionpolicies' || plural === 'validatingadmissionpolicybindings') &&
    operation !== 'DELETE' &&
    subresource === '' &&
    !user.groups.includes(MASTERS_GROUP),
  validate: async (request) => {
    const isPolicy = request.definition.plural === 'validatingadmissionpolicies';
    const problem = isPolicy ? await problemOfPolicy(deps, request) : await problemOfBinding(deps, request);
    const { group, kind } = request.definition;
    if (problem !== undefined) throw invalidObject({ group, kind, name: request.name }, [problem]);
  },
});

async function problemOfPolicy(deps: AdmissionDeps, request: AdmissionRequest): Promise<FieldError | undefined> {
  const { paramKind } = (request.object as unknown as ValidatingAdmissionPolicy).spec;
  const before = (request.old as unknown as ValidatingAdmissionPolicy | undefined)?.spec.paramKind;
  if (paramKind === undefined || deepEqual(paramKind, before)) return undefined;
  if (await mayRead(deps, request, { ...placeOf(deps, paramKind), verb: 'get', namespace: '*', name: '*' }))
    return undefined;
  const { kind = '', apiVersion = '' } = paramKind;
  const why = `must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
  return forbidden('spec.paramKind', `user ${request.user.name} ${why}`);
}

async function problemOfBinding(deps: AdmissionDeps, request: AdmissionRequest): Promise<FieldError | undefined> {
  const { policyName = '', paramRef } = (request.object as unknown as ValidatingAdmissionPolicyBinding).spec ?? {};
  const before = (request.old as unknown as ValidatingAdmissionPolicyBinding | undefined)?.spec;
  const isSame = before?.policyName === policyName && deepEqual(before.paramRef, paramRef);
  if (paramRef === undefined || isSame) return undefined;
  const policy = await deps.reader.fresh<ValidatingAdmissionPolicy>(VALIDATING_ADMISSION_POLICIES, {
    name: policyName,
  });
  const { name = '', namespace = '' } = paramRef;
  const verb = name === '' ? 'list' : 'get';
  if (await mayRead(deps, request, { ...placeOf(deps, policy?.spec.paramKind), verb, namespace, name }))
    return undefined;
  const why = `does not have "${verb}" permission on the object referenced by paramRef`;
  return forbidden('spec.paramRef', `user ${request.user.name} ${why}`);
}

interface Place {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Of what nobody knows yet, everything has to be readable. */
function placeOf({ kinds }: AdmissionDeps, paramKind: Readonly<ParamKind> | undefined): Place {
  if (paramKind === undefined) return { group: '*', version: '*', resource: '*' };
  return { ...groupVersionOf(paramKind), resource: resourceOf(paramKind, kinds)?.plural ?? '*' };
}

interface Read extends Place {
  readonly verb: 'get' | 'list';
  readonly namespace: string;
  readonly name: string;
}

async function mayRead({ access }: AdmissionDeps, { user }: AdmissionRequest, read: Read): Promise<boolean> {
  const info = { kind: 'resource', path: '', subresource: '', rest: '', ...read } as const;
  return (await isAllowed(access.authorizers, user, info)) !== undefined;
}
