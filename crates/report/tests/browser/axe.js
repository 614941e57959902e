// The findings of axe-core that would keep a reader out.
(async () => {
  const { violations, passes } = await axe.run(document, { resultTypes: ["violations"] });
  return {
    rules_passed: passes.length,
    findings: violations.map(({ id, impact, help, nodes }) => ({
      impact,
      what: `${id} (${impact}): ${help}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`,
    })),
  };
})()
