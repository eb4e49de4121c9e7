/** Object identifiers, as bytes: 2.5.4.10 (organization) and 2.5.4.3 (common name). */
const ORGANIZATION = '55040a';
const COMMON_NAME = '550403';

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const LONG_FORM = 0x80;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

export interface RequestedSubject {
  readonly organizations: readonly string[];
  readonly commonNames: readonly string[];
}

/** The subject of a PKCS #10 request: base64 of PEM. Nothing when it cannot be read. */
export function subjectOfCsr(request: string): RequestedSubject | undefined {
  const pem = Buffer.from(request, 'base64').toString('latin1');
  const body = /-----BEGIN CERTIFICATE REQUEST-----([\s\S]*?)-----END CERTIFICATE REQUEST-----/.exec(pem)?.[1];
  const whole = body === undefined ? undefined : elementsOf(Buffer.from(body, 'base64'))?.[0];
  const info = whole?.tag === SEQUENCE ? elementsOf(whole.content)?.[0] : undefined;
  const [version, subject] = (info?.tag === SEQUENCE ? elementsOf(info.content) : undefined) ?? [];
  if (version?.tag !== INTEGER || subject?.tag !== SEQUENCE) return undefined;
  const attributes = elementsOf(subject.content)?.flatMap((set) => elementsOf(set.content) ?? []);
  const valuesOf = (type: string): readonly string[] => (attributes ?? []).flatMap((each) => valueOf(each, type));
  if (attributes === undefined) return undefined;
  return { organizations: valuesOf(ORGANIZATION), commonNames: valuesOf(COMMON_NAME) };
}

function valueOf(attribute: Element, wanted: string): readonly string[] {
  const [type, value] = elementsOf(attribute.content) ?? [];
  return type?.content.toString('hex') === wanted && value !== undefined ? [value.content.toString('utf8')] : [];
}

/** The elements that stand one after the other in DER; nothing when a length does not fit. */
function elementsOf(bytes: Buffer): readonly Element[] | undefined {
  const elements: Element[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at] ?? 0;
    const first = bytes[at + 1] ?? 0;
    const sizeBytes = first < LONG_FORM ? 0 : first - LONG_FORM;
    if (sizeBytes > 4 || at + 2 + sizeBytes > bytes.length) return undefined;
    const length = sizeBytes === 0 ? first : bytes.readUIntBE(at + 2, sizeBytes);
    const start = at + 2 + sizeBytes;
    if (start + length > bytes.length) return undefined;
    elements.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}
