import 'reflect-metadata';
import { X509Certificate as ReadCertificate, webcrypto } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { dateOf, type Ids, invariant } from '@holdfast/platform';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralName,
  KeyUsagesExtension,
  PemConverter,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { CertificateAuthority, IssueOptions, RequestedIdentity } from './port.ts';
import { usagesOf } from './usages.ts';

/** The key type of the authority. */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function readRequest(request: string): Promise<RequestedIdentity> {
  const parsed = parse(request);
  const { subjectName, extensions } = parsed;
  const names = alternativeNames(extensions);
  const of = (type: JsonGeneralName['type']): string[] =>
    names.filter((name) => name.type === type).map(({ value }) => value);
  return {
    commonName: commonNameOf(parsed),
    organizations: subjectName.getField('O'),
    dnsNames: of('dns'),
    ipAddresses: of('ip'),
    emailAddresses: of('email'),
    uris: of('url'),
  };
}

/** Programs that read a certificate with several differ in which one counts. Admission refuses such a request as well. */
function commonNameOf({ subjectName }: Pkcs10CertificateRequest): string {
  const [commonName = '', ...others] = subjectName.getField('CN');
  if (others.length > 0) throw new Error('the certificate request has more than one common name');
  return commonName;
}

export interface AuthorityPem {
  readonly certificate: string;
  readonly key: string;
}

/** An authority whose certificate and key are these PEM texts. */
export async function openAuthority(pem: AuthorityPem, ids: Ids): Promise<CertificateAuthority> {
  const certificate = new X509Certificate(pem.certificate);
  const [bytes] = PemConverter.decode(pem.key);
  invariant(bytes !== undefined, 'the authority has a key');
  const signingKey = await webcrypto.subtle.importKey('pkcs8', bytes, ALGORITHM, false, ['sign']);
  return { issue: (request, options) => issue({ certificate, signingKey, ids }, parse(request), options) };
}

async function issue(
  authority: { readonly certificate: X509Certificate; readonly signingKey: webcrypto.CryptoKey; readonly ids: Ids },
  request: Pkcs10CertificateRequest,
  { usages, notBeforeMs, notAfterMs }: IssueOptions,
): Promise<string> {
  if (!(await request.verify())) throw new Error('unable to verify certificate request signature');
  commonNameOf(request);
  const { flags, extended } = usagesOf(usages);
  const names = alternativeNames(request.extensions);
  const issued = await X509CertificateGenerator.create({
    serialNumber: serialNumber(authority.ids),
    // Copies the bytes: decoding and encoding the text `\system:masters` could yield another name than the one that was
    // checked.
    subject: request.subjectName,
    issuer: authority.certificate.subject,
    publicKey: request.publicKey,
    signingKey: authority.signingKey,
    signingAlgorithm: ALGORITHM,
    notBefore: dateOf(notBeforeMs),
    notAfter: dateOf(Math.min(notAfterMs, authority.certificate.notAfter.getTime())),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      ...(flags === 0 ? [] : [new KeyUsagesExtension(flags, true)]),
      ...(extended.length === 0 ? [] : [new ExtendedKeyUsageExtension([...extended])]),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension([...names])]),
    ],
  });
  const pem = `${issued.toString('pem').trimEnd()}\n`;
  refuseAmbiguousSubject(pem, request);
  return pem;
}

/** Two libraries may read one encoded subject differently. The certificate must show exactly the subject that was checked. */
function refuseAmbiguousSubject(pem: string, { subjectName }: Pkcs10CertificateRequest): void {
  const lines = (new ReadCertificate(pem).subject ?? '').split('\n');
  const shown = (field: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`${field}=`)).map((line) => unescaped(line.slice(field.length + 1)));
  for (const field of ['CN', 'O']) {
    if (isDeepStrictEqual(shown(field), subjectName.getField(field))) continue;
    throw new Error(`the ${field} of the certificate request is ambiguous`);
  }
}

/** Takes back what RFC 2253 does to special characters. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\(?:([0-9A-F]{2})|(.))/gs, (_, code: string | undefined, character: string) =>
    code === undefined ? character : String.fromCharCode(Number.parseInt(code, 16)),
  );

const parse = (request: string): Pkcs10CertificateRequest =>
  new Pkcs10CertificateRequest(Buffer.from(request, 'base64').toString('latin1'));

const alternativeNames = (extensions: readonly Extension[]): readonly JsonGeneralName[] =>
  [...extensions].flatMap((extension) =>
    extension instanceof SubjectAlternativeNameExtension ? extension.names.toJSON() : [],
  );

/** Positive, and never the same twice. */
const serialNumber = (ids: Ids): string => `4${ids.uuid().replaceAll('-', '').slice(1)}`;
