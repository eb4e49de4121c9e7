/** Object identifiers, as bytes: 2.5.4.10 (organization) and 2.5.4.3 (common name). */
const ORGANIZATION = '55040a';
const COMMON_NAME = '550403';

const SEQUENCE = 0x30;
const VERSION = 0xa0;
const LONG_FORM = 0x80;

/** A value in DER (ITU-T X.690). */
export interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

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
  const whole = elementsOf(der)?.[0];
  const signed = whole?.tag === SEQUENCE ? elementsOf(whole.content)?.[0] : undefined;
  return signed?.tag === SEQUENCE ? elementsOf(signed.content) : undefined;
}

/** Nothing when it cannot be read. */
export function readSubject({ tag, content }: Element): X509Subject | undefined {
  const sets = tag === SEQUENCE ? elementsOf(content) : undefined;
  const attributes = sets?.flatMap((set) => elementsOf(set.content) ?? []);
  if (attributes === undefined) return undefined;
  const valuesOf = (type: string): readonly string[] => attributes.flatMap((each) => valueOf(each, type));
  return { organizations: valuesOf(ORGANIZATION), commonNames: valuesOf(COMMON_NAME) };
}

function valueOf(attribute: Element, wanted: string): readonly string[] {
  const [type, value] = elementsOf(attribute.content) ?? [];
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

/** The elements that stand one after the other in DER; nothing when a length does not fit. */
function elementsOf(bytes: Buffer): readonly Element[] | undefined {
  const elements: Element[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at] ?? 0;
    const first = bytes[at + 1] ?? 0;
    const sizeBytes = first < LONG_FORM ? 0 : first - LONG_FORM;
    // DER has no lengths that are only known at the end.
    if (first === LONG_FORM || sizeBytes > 4 || at + 2 + sizeBytes > bytes.length) return undefined;
    const length = sizeBytes === 0 ? first : bytes.readUIntBE(at + 2, sizeBytes);
    const start = at + 2 + sizeBytes;
    if (start + length > bytes.length) return undefined;
    elements.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}
