{#- All pages of the formgrader but that of one submission: nbgrader's, with a way back to the hub's first page. -#}
{%- extends "nbgrader/base.tpl" -%}
{%- block body -%}
<p><a href="{{ way_back }}">Your courses</a></p>
{{ super() }}
{%- endblock -%}
{%- block script -%}
<script>
// A student whose account has no full name has a last name only, which would be shown with a comma behind it.
for (const view of [window.StudentUI, window.SubmissionUI, window.SubmittedNotebookUI].filter(Boolean)) {
  const render = view.prototype.render;
  view.prototype.render = function () {
    render.call(this);
    const names = ['last_name', 'first_name'].map(name => this.model.get(name));
    if (names.every(Boolean)) return;
    const shown = names.map(name => name ?? 'None').join(', ');
    const better = names.filter(Boolean).join(', ') || this.model.get('student') || this.model.id;
    this.$el.find('td, a').filter((_, part) => !part.children.length && part.textContent === shown).text(better);
  };
}
// An assignment's name leads to what is made anew from the lab's source, where an edit would be lost.
if (window.AssignmentUI) {
  const render = AssignmentUI.prototype.render;
  AssignmentUI.prototype.render = function () {
    this.model.attributes.source_path = this.model.get('source_path')?.replace(/^build[/]/, '');
    render.call(this);
    this.$name.find('a').attr('title', "The lab's source: edit lab.py here; what is released is built from it");
    this.$preview.find('a').attr('title', "What students get, to look at: a cell that you run here runs as the course's grader");
  };
}
// What nbgrader calls a success may have left somebody out: the log's warnings are told first, and its errors.
const logModal = window.createLogModal;
window.createLogModal = (id, title, message, log, error) => {
  const lines = (log ?? '').split('\n');
  const told = lines.filter(line => /^\[(WARNING|ERROR)\] /.test(line)).map(line => line.replace(/^\[\w+\] /, ''));
  if (told.length && id === 'success-modal') {
    const given = lines.filter(line => line.startsWith('[INFO] Releasing feedback for student')).length;
    const feedback = message.startsWith('Successfully released feedback');
    const to = given ? `${given}, and not to all` : 'nobody';
    title = feedback ? `Feedback is released to ${to}` : 'Done, with warnings';
    if (feedback) message = 'Who got none, and why:';
  }
  const modal = logModal(id, title, message, log, error);
  modal.find('pre').css('white-space', 'pre-wrap');  // else its lines are cut off
  const list = $('<ul/>').append(told.map(line => $('<li/>').text(line)));
  if (told.length) modal.find('.modal-body p').first().after(list);
  return modal;
};
</script>
{%- endblock -%}
