/** A text that is no YAML, or more of it than is taken. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}
