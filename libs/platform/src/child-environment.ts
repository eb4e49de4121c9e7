/** The environment of a child of this process: its own, and these variables. */
export const environmentWith = (variables: Readonly<Record<string, string>>): Record<string, string | undefined> => ({
  ...process.env,
  ...variables,
});
