import { fieldSetOf } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { humanDuration } from '../../columns/age.ts';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '../../generated/types.ts';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../refs.ts';
import type { ValidationContext } from '../../resource.ts';
import { defineResource } from '../define.ts';
import { keepSpec, keepStatus } from '../strategy.ts';
import { csrChecks, validateApproval, validateCsrStatusUpdate } from './validation.ts';

export const certificateSigningRequestResource = defineResource(CERTIFICATE_SIGNING_REQUESTS, {
  setDefaults: (csr) => {
    setDefault(csr, 'spec', { request: '', signerName: '' });
    setDefault(csr, 'status', {});
    setDefault(csr.spec, 'request', '');
    setDefault(csr.spec, 'signerName', '');
  },
  strategy: {
    prepareForCreate: (csr, { requester }) => {
      csr.status = {};
      recordRequester(csr, requester);
    },
    prepareForUpdate: (csr, old) => {
      keepStatus(csr, old);
      keepSpec(csr, old);
    },
    ...csrChecks,
    allowUnconditionalUpdate: true,
    resets: fieldSetOf(['f:spec'], ['f:status']),
  },
  status: {
    resets: fieldSetOf(['f:spec'], ['f:status', 'f:conditions']),
    prepareForUpdate: (csr, old, context) => {
      keepSpec(csr, old);
      keepDecisions(csr, old);
      stampConditions(csr, old, context);
    },
    validateUpdate: validateCsrStatusUpdate,
  },
  subresources: {
    approval: {
      resets: fieldSetOf(['f:spec'], ['f:status', 'f:certificate']),
      prepareForUpdate: (csr, old, context) => {
        const { conditions } = csr.status;
        const { conditions: _decided, ...rest } = old.status;
        keepSpec(csr, old);
        csr.status = conditions === undefined ? rest : { ...rest, conditions };
        stampConditions(csr, old, context);
      },
      validateUpdate: validateApproval,
    },
  },
  columns: [
    nameColumn,
    ageColumn,
    textColumn('SignerName', 'Who should sign', ({ spec }) => spec.signerName || '<none>'),
    textColumn('Requestor', 'Who asked', ({ spec }) => spec.username ?? ''),
    textColumn('RequestedDuration', 'For how long', ({ spec }) =>
      spec.expirationSeconds === undefined ? '<none>' : humanDuration(spec.expirationSeconds * 1000),
    ),
    textColumn('Condition', 'What became of it', conditionText),
  ],
  selectableFields: { 'spec.signerName': ({ spec }) => spec.signerName },
});

/** The server records the requester; the client cannot set it. */
function recordRequester(csr: CertificateSigningRequest, requester: ValidationContext['requester']): void {
  if (requester === undefined) return;
  const { spec } = csr;
  for (const key of ['username', 'uid', 'groups', 'extra'] as const) delete spec[key];
  spec.username = requester.username;
  if (requester.uid) spec.uid = requester.uid;
  if ((requester.groups ?? []).length > 0) spec.groups = [...(requester.groups ?? [])];
  if (requester.extra !== undefined && Object.keys(requester.extra).length > 0) {
    spec.extra = Object.fromEntries(Object.entries(requester.extra).map(([key, values]) => [key, [...values]]));
  }
}

/**
 * Approval requires its own permission: a status update keeps the decisions. Validation refuses a changed number of
 * them.
 */
function keepDecisions(csr: CertificateSigningRequest, old: Readonly<CertificateSigningRequest>): void {
  for (const type of ['Approved', 'Denied']) {
    const isOfType = (condition: CertificateSigningRequestCondition): boolean => condition.type === type;
    const decided = (old.status.conditions ?? []).filter(isOfType);
    let next = 0;
    const conditions = csr.status.conditions ?? [];
    if (conditions.filter(isOfType).length !== decided.length || decided.length === 0) continue;
    csr.status.conditions = conditions.map((condition) =>
      isOfType(condition) ? { ...(decided[next++] ?? condition) } : condition,
    );
  }
}

/** An unchanged condition keeps its transition time. */
function stampConditions(
  csr: CertificateSigningRequest,
  { status: { conditions: before = [] } }: Readonly<CertificateSigningRequest>,
  { now }: ValidationContext,
): void {
  const known = new Map(before.toReversed().map((each) => [JSON.stringify([each.type, each.status]), each]));
  for (const condition of csr.status.conditions ?? []) {
    const same = known.get(JSON.stringify([condition.type, condition.status]));
    condition.lastUpdateTime ??= formatTime(now);
    condition.lastTransitionTime ??= same?.lastTransitionTime ?? formatTime(now);
  }
}

function conditionText({ status }: Readonly<CertificateSigningRequest>): string {
  const has = (type: string): boolean => status.conditions?.some((condition) => condition.type === type) === true;
  const words = [has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'];
  if (has('Failed')) words.push('Failed');
  if (status.certificate) words.push('Issued');
  return words.join(',');
}
