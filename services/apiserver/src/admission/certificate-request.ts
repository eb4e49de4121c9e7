/** Object identifier 2.5.4.10 (organization), as bytes. */
const ORGANIZATION = '55040a';

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const LONG_FORM = 0x80;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** The organizations in the subject of a PKCS #10 request: base64 of PEM. Nothing when it cannot be read. */
export function organizationsOf(request: string): readonly string[] | undefined {
  const pem = Buffer.from(request, 'base64').toString('latin1');
  const body = /-----BEGIN CERTIFICATE REQUEST-----([\s\S]*?)-----END CERTIFICATE REQUEST-----/.exec(pem)?.[1];
  const whole = body === undefined ? undefined : elementsOf(Buffer.from(body, 'base64'))?.[0];
  const info = whole?.tag === SEQUENCE ? elementsOf(whole.content)?.[0] : undefined;
  const [version, subject] = (info?.tag === SEQUENCE ? elementsOf(info.content) : undefined) ?? [];
  if (version?.tag !== INTEGER || subject?.tag !== SEQUENCE) return undefined;
  return elementsOf(subject.content)?.flatMap((set) => (elementsOf(set.content) ?? []).flatMap(organizationOf));
}

function organizationOf(attribute: Element): readonly string[] {
  const [type, value] = elementsOf(attribute.content) ?? [];
  return type?.content.toString('hex') === ORGANIZATION && value !== undefined ? [value.content.toString('utf8')] : [];
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
