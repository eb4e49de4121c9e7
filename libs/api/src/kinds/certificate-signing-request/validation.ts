import { X509Certificate } from 'node:crypto';
import { duplicate, type FieldError, forbidden, invalid, notSupported, required, tooLong } from '@holdfast/machinery';
import type { CertificateSigningRequest } from '../../generated/types.ts';
import { LEGACY_SIGNER } from '../../semantics/well-known.ts';
import { repeats, validateRequiredWord } from '../../validation/check.ts';
import { byteLength, type Check, dnsLabelErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goBytes } from '../../validation/go-text.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { pemBlocks } from '../../validation/pem.ts';
import { checkedInSteps } from '../checked.ts';
import { pemBytes, requestDer } from './pem-bytes.ts';
import { requestProblem } from './signed-request.ts';

/** Names of requests are not restricted. */
const META = { namespaced: false, name: () => [] } as const;

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

type Request = Readonly<CertificateSigningRequest>;

const DURATION_SECONDS_MIN = 600;

/** When the spec is unchanged, checks only what can change. */
function validateWhole(out: FieldError[], csr: Request, old?: Request): void {
  const { spec } = csr;
  validateRequestText(out, spec.request ?? '', old?.spec.request);
  const usages = spec.usages ?? [];
  if (usages.length === 0) out.push(required('spec.usages'));
  for (const [i, usage] of usages.entries()) {
    if (!USAGES.includes(usage)) out.push(notSupported(`spec.usages[${i}]`, usage, USAGES));
  }
  const isRepeated = repeats<string>();
  for (const [i, usage] of usages.entries()) {
    if (isRepeated(usage)) out.push(duplicate(`spec.usages[${i}]`, usage));
  }
  validateSigner(out, spec.signerName ?? '');
  const seconds = spec.expirationSeconds;
  if (seconds !== undefined && seconds < DURATION_SECONDS_MIN) {
    const detail = 'may not specify a duration less than 600 seconds (10 minutes)';
    out.push(invalid('spec.expirationSeconds', seconds, detail));
  }
  validateConditions(out, csr);
}

function validateSigner(out: FieldError[], name: string): void {
  if (name !== LEGACY_SIGNER) validateSignerName(out, 'spec.signerName', name);
  else out.push(invalid('spec.signerName', name, 'the legacy signerName is not allowed via this API version'));
}

export const csrChecks = checkedInSteps<CertificateSigningRequest>(META, {
  whole: validateWhole,
  onUpdate: ['whole', 'metadata'],
});

/** A request that is stored was checked when it came. */
function validateRequestText(out: FieldError[], request: string, old: string | undefined): void {
  const problem = request === old ? undefined : requestTextProblem(request);
  if (problem !== undefined) out.push(invalid('spec.request', goBytes(request), problem));
}

function requestTextProblem(request: string): string | undefined {
  const der = requestDer(request);
  return der === undefined ? 'PEM block type must be CERTIFICATE REQUEST' : requestProblem(der);
}

const DOMAIN_BYTES_MAX = 253;
const SIGNER_BYTES_MAX = 571;

/** `example.com/signer` */
function validateSignerName(out: FieldError[], path: string, name: string): void {
  if (name === '') {
    out.push(required(path));
    return;
  }
  const [domain = '', rest, ...more] = name.split('/');
  if (rest === undefined || more.length > 0) {
    out.push(invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'"));
    return;
  }
  if (byteLength(domain) > DOMAIN_BYTES_MAX) out.push(tooLong(path, DOMAIN_BYTES_MAX));
  validateParts(out, path, domain, dnsLabelErrors);
  if (!domain.includes('.')) {
    out.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  }
  validateParts(out, path, rest, dnsSubdomainErrors);
  if (byteLength(name) > SIGNER_BYTES_MAX) out.push(tooLong(path, SIGNER_BYTES_MAX));
}

/** Reports only the first invalid part. */
function validateParts(out: FieldError[], path: string, text: string, check: Check): void {
  const wrong = text.split('.').find((part) => check(part).length > 0);
  if (wrong === undefined) return;
  for (const error of check(wrong)) {
    out.push(invalid(path, text, `validating label ${JSON.stringify(wrong)}: ${error}`));
  }
}

const DECISIONS = ['Approved', 'Denied'];
const LASTING = [...DECISIONS, 'Failed'];

function validateConditions(out: FieldError[], csr: Readonly<CertificateSigningRequest>): void {
  const seen = new Set<string>();
  for (const [i, condition] of (csr.status.conditions ?? []).entries()) {
    const path = `status.conditions[${i}]`;
    const type = condition.type ?? '';
    if (type === '') out.push(required(`${path}.type`));
    const statuses = LASTING.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    validateRequiredWord(out, `${path}.status`, condition.status, statuses);
    const other = DECISIONS.find((decision) => decision !== type);
    if (DECISIONS.includes(type) && other !== undefined && seen.has(other)) {
      out.push(invalid(`${path}.type`, type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (seen.has(type)) out.push(duplicate(`${path}.type`, type));
    seen.add(type);
  }
}

const conditionsOf = (csr: Request, type: string) =>
  (csr.status.conditions ?? []).filter((condition) => condition.type === type);

/** A decision is final. */
function validateDecisions(out: FieldError[], csr: Request, old: Request, mayDecide: boolean): void {
  const path = 'status.conditions';
  for (const type of LASTING) {
    if (conditionsOf(csr, type).length >= conditionsOf(old, type).length) continue;
    out.push(forbidden(path, `updates may not remove a condition of type ${JSON.stringify(type)}`));
  }
  if (mayDecide) return;
  for (const type of DECISIONS) {
    if (conditionsOf(csr, type).length <= conditionsOf(old, type).length) continue;
    out.push(forbidden(path, `updates may not add a condition of type ${JSON.stringify(type)}`));
  }
}

function validateCertificate(out: FieldError[], csr: Request, old: Request): void {
  const path = 'status.certificate';
  const [now, before] = [csr.status.certificate ?? '', old.status.certificate ?? ''];
  if (now === before) return;
  const problem = certificateProblem(now);
  if (problem !== undefined) out.push(invalid(path, '<certificate data>', problem));
}

function certificateProblem(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const text = Buffer.from(base64, 'base64').toString('latin1');
  let certificates = 0;
  for (const block of pemBlocks(text)) {
    const { type, body } = block;
    const der = pemBytes(block);
    if (der === undefined) continue;
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (body.includes(':')) return 'no PEM block headers are permitted';
    if (der.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    if (!isCertificate(der)) return 'x509: malformed certificate';
    certificates += 1;
  }
  return certificates === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).raw.length > 0;
  } catch {
    return false;
  }
}

export function validateCsrStatusUpdate(csr: Request, old: Request): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, csr.metadata, META);
  validateWhole(out, csr, old);
  validateCertificate(out, csr, old);
  validateDecisions(out, csr, old, false);
  if (old.status.certificate && (csr.status.certificate ?? '') !== old.status.certificate) {
    out.push(forbidden('status.certificate', 'updates may not modify existing certificate content'));
  }
  validateObjectMetaUpdate(out, csr.metadata, old.metadata);
  return out;
}

export function validateApproval(csr: Request, old: Request): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, csr.metadata, META);
  validateWhole(out, csr, old);
  validateDecisions(out, csr, old, true);
  if ((csr.status.certificate ?? '') !== (old.status.certificate ?? '')) {
    out.push(forbidden('status.certificate', 'updates may not set certificate content'));
  }
  validateObjectMetaUpdate(out, csr.metadata, old.metadata);
  return out;
}
