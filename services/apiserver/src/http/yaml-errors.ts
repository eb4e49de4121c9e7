/** A text that is not valid YAML, or more of it than is taken. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

/** A text that takes more work or memory than a text of YAML may. */
export class YamlTooLargeError extends Error {
  override readonly name = 'YamlTooLargeError';
}
