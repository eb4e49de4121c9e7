import { type DerValue, derValues } from '@holdfast/api';

/** Object identifiers, as bytes: 2.5.4.10 (organization) and 2.5.4.3 (common name). */
const ORGANIZATION = '55040a';
const COMMON_NAME = '550403';

const SEQUENCE = 0x30;
const VERSION = 0xa0;

type Element = Pick<DerValue, 'tag' | 'content'>;

/** The values as they stand in the certificate: printed texts escape some characters, and join values that stand together. */
export interface X509Subject {
  readonly organizations: readonly string[];
  readonly commonNames: readonly string[];
}

/** The subject of a certificate in DER. Nothing when it cannot be read. */
export function subjectOfCertificate(certificate: Buffer): X509Subject | undefined {
  const parts = signedParts(certificate) ?? [];
  const [, , , , subject] = parts[0]?.tag === VERSION ? parts.slice(1) : parts;
  return subject === undefined ? undefined : readSubject(subject);
}

/** The members of what is signed, which is the first member of a certificate, or of a request for one. */
export function signedParts(der: Buffer): readonly Element[] | undefined {
  const whole = derValues(der)?.[0];
  const signed = whole?.tag === SEQUENCE ? derValues(whole.content)?.[0] : undefined;
  return signed?.tag === SEQUENCE ? derValues(signed.content) : undefined;
}

/** Nothing when it cannot be read. */
export function readSubject({ tag, content }: Element): X509Subject | undefined {
  const sets = tag === SEQUENCE ? derValues(content) : undefined;
  const attributes = sets?.flatMap((set) => derValues(set.content) ?? []);
  if (attributes === undefined) return undefined;
  const valuesOf = (type: string): readonly string[] => attributes.flatMap((each) => valueOf(each, type));
  return { organizations: valuesOf(ORGANIZATION), commonNames: valuesOf(COMMON_NAME) };
}

function valueOf(attribute: Element, wanted: string): readonly string[] {
  const [type, value] = derValues(attribute.content) ?? [];
  return type?.content.toString('hex') === wanted && value !== undefined ? [textOf(value)] : [];
}

/** Strings of one byte for each character: numeric, printable, teletex, IA5 and visible. */
const LATIN: ReadonlySet<number> = new Set([0x12, 0x13, 0x14, 0x16, 0x1a]);
const BMP_STRING = 0x1e;
const UNIVERSAL_STRING = 0x1c;

function textOf({ tag, content }: Element): string {
  if (LATIN.has(tag)) return content.toString('latin1');
  if (tag === BMP_STRING && content.length % 2 === 0) return Buffer.from(content).swap16().toString('utf16le');
  if (tag === UNIVERSAL_STRING && content.length % 4 === 0) return wideText(content);
  return content.toString('utf8');
}

function wideText(content: Buffer): string {
  let text = '';
  for (let at = 0; at < content.length; at += 4) {
    const code = content.readUInt32BE(at);
    text += code > LAST_CODE_POINT ? '\ufffd' : String.fromCodePoint(code);
  }
  return text;
}

const LAST_CODE_POINT = 0x10_ff_ff;
