/** `registry:5000/team/app:1.2@sha256:...` -> `1.2`; `latest` when neither a tag nor a digest is given. */
export function imageTag(image: string): string {
  const at = image.indexOf('@');
  const named = at < 0 ? image : image.slice(0, at);
  if (named.length > NAMED_CHARS_MAX || !NAME.test(named)) return '';
  const colon = named.lastIndexOf(':');
  const tag = colon > named.lastIndexOf('/') ? named.slice(colon + 1) : '';
  return tag === '' && at < 0 ? 'latest' : tag;
}

/** Repository names are lower case. A text that is not an image name has no tag. */
const NAME = /^([a-zA-Z0-9.-]+(:[0-9]+)?\/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[\w][\w.-]{0,127})?$/;

/**
 * A host of 255 characters and a port, a repository of 255, a tag of 128: a longer text is not an image name and is not
 * matched.
 */
const NAMED_CHARS_MAX = 648;
