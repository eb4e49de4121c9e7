import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  semanticEqual,
} from '@holdfast/machinery';
import type { CertificateSigningRequest } from '../../generated/types.ts';
import { validateDnsSubdomain } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goBytes } from '../../validation/go-text.ts';
import { checked, checkedUpdate } from '../checked.ts';

const META = { namespaced: false, name: dnsSubdomainErrors, wholeOnUpdate: true } as const;

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

const DURATION_SECONDS_MIN = 600;

export const csrChecks = checked<CertificateSigningRequest>(META, (out, { spec }) => {
  validateRequestText(out, spec.request ?? '');
  const usages = spec.usages ?? [];
  if (usages.length === 0) out.push(required('spec.usages'));
  for (const [i, usage] of usages.entries()) {
    if (!USAGES.includes(usage)) out.push(notSupported(`spec.usages[${i}]`, usage, USAGES));
    if (usages.indexOf(usage) < i) out.push(duplicate(`spec.usages[${i}]`, usage));
  }
  validateSignerName(out, 'spec.signerName', spec.signerName ?? '');
  const seconds = spec.expirationSeconds;
  if (seconds !== undefined && seconds < DURATION_SECONDS_MIN) {
    const detail = 'may not specify a duration less than 600 seconds (10 minutes)';
    out.push(invalid('spec.expirationSeconds', seconds, detail));
  }
});

function validateRequestText(out: FieldError[], request: string): void {
  const text = Buffer.from(request, 'base64').toString('latin1');
  if (/-----BEGIN CERTIFICATE REQUEST-----[\s\S]*-----END CERTIFICATE REQUEST-----/.test(text)) return;
  out.push(invalid('spec.request', goBytes(request), 'PEM block type must be CERTIFICATE REQUEST'));
}

const SIGNER_CHARS_MAX = 571;

/** `example.com/signer` */
export function validateSignerName(out: FieldError[], path: string, name: string): void {
  if (name === '') {
    out.push(required(path));
    return;
  }
  const [domain = '', rest, ...more] = name.split('/');
  if (rest === undefined || more.length > 0) {
    out.push(invalid(path, name, 'must be a fully qualified domain and path of the form "example.com/signer-name"'));
    return;
  }
  validateDnsSubdomain(out, path, domain);
  if (!domain.includes('.'))
    out.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  validateDnsSubdomain(out, path, rest);
  if (name.length > SIGNER_CHARS_MAX) out.push(invalid(path, '', `may not be more than ${SIGNER_CHARS_MAX} bytes`));
}

function validateConditions(out: FieldError[], csr: Readonly<CertificateSigningRequest>): void {
  const conditions = csr.status.conditions ?? [];
  const seen = new Set<string>();
  for (const [i, { type, status }] of conditions.entries()) {
    const path = `status.conditions[${i}]`;
    if (!type) out.push(required(`${path}.type`));
    else if (seen.has(type)) out.push(duplicate(`${path}.type`, type));
    seen.add(type);
    if (!status) out.push(required(`${path}.status`));
    else if (!['True', 'False', 'Unknown'].includes(status)) {
      out.push(notSupported(`${path}.status`, status, ['False', 'True', 'Unknown']));
    } else if (['Approved', 'Denied', 'Failed'].includes(type) && status !== 'True') {
      out.push(notSupported(`${path}.status`, status, ['True']));
    }
  }
  if (seen.has('Approved') && seen.has('Denied')) {
    out.push(invalid('status.conditions', 'Denied', 'Approved and Denied conditions are mutually exclusive'));
  }
}

/** A decision, once made, stands. */
function validateDecisionsKept(
  out: FieldError[],
  csr: Readonly<CertificateSigningRequest>,
  old: Readonly<CertificateSigningRequest>,
): void {
  for (const type of ['Approved', 'Denied', 'Failed']) {
    const before = (old.status.conditions ?? []).filter((condition) => condition.type === type);
    const after = (csr.status.conditions ?? []).filter((condition) => condition.type === type);
    if (before.length > 0 && after.length === 0) {
      out.push(forbidden('status.conditions', `updates may not remove a condition of type "${type}"`));
    }
  }
}

export const validateCsrStatusUpdate = checkedUpdate<CertificateSigningRequest>((out, csr, old) => {
  validateConditions(out, csr);
  validateDecisionsKept(out, csr, old);
  if (old.status.certificate && !semanticEqual(csr.status.certificate, old.status.certificate)) {
    out.push(forbidden('status.certificate', 'updates may not set certificate content, except from "" to valid'));
  }
});

export const validateApproval = checkedUpdate<CertificateSigningRequest>((out, csr, old) => {
  validateConditions(out, csr);
  validateDecisionsKept(out, csr, old);
});
